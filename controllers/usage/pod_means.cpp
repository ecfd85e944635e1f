#include "controllers/usage/pod_means.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

namespace controllers {
namespace {

using scheduling::kUnknownUsage;
using scheduling::MeasuredUsage;

constexpr double kLongestStep = 600;  ///< seconds that one answer may stand for: gaps are not filled
constexpr double kFirstStep = 30;

double seconds(base::Duration time) { return std::chrono::duration<double>(time).count(); }

std::uint64_t hash_of(std::string_view ns, std::string_view name) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  const std::hash<std::string_view> hash;
  return hash(ns) * kOdd + hash(name);
}

std::string_view workload_of(std::string_view pod) { return pod.substr(0, pod.rfind('-')); }

}  // namespace

std::vector<std::int64_t> PodMeans::take(const Pods& pods, const Amounts& amounts, std::size_t columns,
                                         base::TimePoint now) {
  if (columns != columns_) *this = PodMeans();
  columns_ = columns;
  const double elapsed = last_ ? std::clamp(seconds(now - *last_), 0.0, kLongestStep) : kFirstStep;
  std::vector<std::int64_t> means;
  means.reserve(amounts.size());
  for (std::size_t p = 0; p < pods.size(); ++p) {
    Entry& entry = entry_of(pods[p]);
    entry.seen = now;
    update(entry, amounts.get().data() + p * columns, elapsed);
    const float* const values = values_of(entry);
    for (std::size_t c = 0; c < columns; ++c)
      means.push_back(values[c] < 0 ? kUnknownUsage : std::llround(values[c]));
  }
  workloads_.reset();
  last_ = now;
  forget(pods.size(), now);
  return means;
}

PodMeans::Entry& PodMeans::entry_of(const MeasuredUsage::Pod& pod) {
  const std::uint64_t key = hash_of(pod.ns, pod.name);
  if (const auto known = entries_.find(key); known != entries_.end()) return known->second;
  if (!workloads_) sum_up_workloads();
  Entry entry;
  entry.workload = hash_of(pod.ns, workload_of(pod.name));
  if (free_rows_.empty()) {
    entry.row = static_cast<std::uint32_t>(values_.size() / std::max<std::size_t>(columns_, 1));
    values_.resize(values_.size() + columns_);
  } else {
    entry.row = free_rows_.back();
    free_rows_.pop_back();
  }
  std::fill_n(values_of(entry), columns_, -1.0F);
  begin_as_workload(entry);
  return entries_.emplace(key, entry).first->second;
}

void PodMeans::sum_up_workloads() {
  workloads_.emplace();
  for (const auto& [key, entry] : entries_) {
    Sum& sum = (*workloads_)[entry.workload];
    sum.values.resize(columns_);
    sum.weights.resize(columns_);
    const float* const values = values_of(entry);
    for (std::size_t c = 0; c < columns_; ++c) {
      if (values[c] < 0) continue;
      sum.values[c] += static_cast<double>(values[c]) * static_cast<double>(entry.known_for);
      sum.weights[c] += static_cast<double>(entry.known_for);
    }
  }
}

void PodMeans::begin_as_workload(Entry& entry) {
  const auto sum = workloads_->find(entry.workload);
  if (sum == workloads_->end()) return;
  float* const values = values_of(entry);
  for (std::size_t c = 0; c < columns_; ++c) {
    if (sum->second.weights[c] <= 0) continue;
    values[c] = static_cast<float>(sum->second.values[c] / sum->second.weights[c]);
    entry.known_for = static_cast<float>(seconds(kPrior));
  }
}

void PodMeans::update(Entry& entry, const std::int64_t* amounts, double elapsed) {
  const double known = std::min(entry.known_for + elapsed, seconds(kSpan));
  const double part = known > 0 ? elapsed / known : 1;
  float* const values = values_of(entry);
  for (std::size_t c = 0; c < columns_; ++c) {
    if (amounts[c] == kUnknownUsage) continue;
    const auto amount = static_cast<double>(amounts[c]);
    values[c] = static_cast<float>(values[c] < 0 ? amount : values[c] + part * (amount - values[c]));
  }
  entry.known_for = static_cast<float>(known);
}

void PodMeans::forget(std::size_t present, base::TimePoint now) {
  const bool are_too_many = entries_.size() > 2 * present + kMostMissing;
  std::erase_if(entries_, [&](const auto& each) {
    const Entry& entry = each.second;
    if (entry.seen == now || (!are_too_many && now - entry.seen <= kRemembered)) return false;
    free_rows_.push_back(entry.row);
    return true;
  });
}

}  // namespace controllers
