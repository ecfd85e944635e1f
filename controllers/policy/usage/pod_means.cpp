#include "controllers/policy/usage/pod_means.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "api/meta/shared.hpp"

namespace controllers {
namespace {

using scheduling::kUnknownUsage;

constexpr double kMaxStep = 600;  ///< maximum number of seconds that one answer represents; longer gaps are not filled
constexpr double kFirstStep = 30;

double seconds(base::Duration time) { return std::chrono::duration<double>(time).count(); }

/// Hash with a per-process seed, so that clients cannot choose colliding names.
std::uint64_t hash_of(std::string_view ns, std::string_view name) { return api::Hasher().add(ns).add(name).value(); }

/// Sums over a workload's pods for a mean weighted by how long each pod is known.
struct Sum {
  std::vector<double> values;
  std::vector<double> weights;
};

}  // namespace

std::vector<std::int64_t> PodMeans::take(const Pods& pods, const Amounts& amounts, std::size_t columns,
                                         base::TimePoint now) {
  if (columns != columns_) *this = PodMeans();
  if (pods.empty() || columns == 0) return {};
  columns_ = columns;
  if (!last_) first_ = now;
  const double elapsed = last_ ? std::clamp(seconds(now - *last_), 0.0, kMaxStep) : kFirstStep;
  last_ = now;
  Answer answer{std::vector<std::size_t>(pods.size()), {}};
  Table next = merged_with(pods, answer);
  begin_as_workloads(next, answer.begun);
  std::vector<std::int64_t> means;
  means.reserve(amounts.size());
  for (std::size_t p = 0; p < pods.size(); ++p) {
    float* const values = next.values.data() + answer.rows[p] * columns;
    update(next.entries[answer.rows[p]], values, amounts.get().data() + p * columns, elapsed);
    for (std::size_t c = 0; c < columns; ++c) means.push_back(values[c] < 0 ? kUnknownUsage : std::llround(values[c]));
  }
  known_ = std::move(next);
  return means;
}

/// Merges in one pass, since both sides are sorted by key.
PodMeans::Table PodMeans::merged_with(const Pods& pods, Answer& answer) const {
  Table next;
  next.entries.reserve(pods.size());
  next.values.reserve(pods.size() * columns_);
  std::size_t may_miss = pods.size() + kMaxMissing;
  std::size_t at = 0;
  const auto keep_missing = [&](std::uint64_t below) {
    for (; at < known_.entries.size() && known_.entries[at].key < below; ++at) {
      if (since_first() - known_.entries[at].seen > seconds(kRemembered) || may_miss == 0) continue;
      keep(at, next);
      --may_miss;
    }
  };
  std::vector<Named> names;
  names.reserve(pods.size());
  for (std::uint32_t p = 0; p < pods.size(); ++p) names.push_back({hash_of(pods[p].ns, pods[p].name), p});
  std::ranges::sort(names, {}, [](const Named& name) { return std::pair(name.key, name.pod); });
  for (const Named& name : names) {
    keep_missing(name.key);
    answer.rows[name.pod] = next.entries.size();
    if (at < known_.entries.size() && known_.entries[at].key == name.key) {
      keep(at++, next);
    } else {
      const auto& [ns, pod] = pods[name.pod];
      answer.begun.push_back(next.entries.size());
      next.entries.push_back({name.key, hash_of(ns, std::string_view(pod).substr(0, pod.rfind('-'))), 0, 0});
      next.values.insert(next.values.end(), columns_, -1);
    }
    next.entries.back().seen = static_cast<float>(since_first());
  }
  keep_missing(std::numeric_limits<std::uint64_t>::max());
  return next;
}

double PodMeans::since_first() const { return std::max(seconds(*last_ - first_), 0.0); }

void PodMeans::keep(std::size_t entry, Table& table) const {
  table.entries.push_back(known_.entries[entry]);
  table.values.insert(table.values.end(), values_of(entry), values_of(entry) + columns_);
}

void PodMeans::begin_as_workloads(Table& table, const std::vector<std::size_t>& begun) const {
  std::unordered_map<std::uint64_t, Sum> workloads;
  if (known_.entries.empty()) return;
  for (const std::size_t row : begun)
    workloads.try_emplace(table.entries[row].workload, Sum{std::vector(columns_, 0.0), std::vector(columns_, 0.0)});
  if (workloads.empty()) return;
  for (std::size_t i = 0; i < known_.entries.size(); ++i) {
    const auto sum = workloads.find(known_.entries[i].workload);
    if (sum == workloads.end()) continue;
    const auto weight = static_cast<double>(known_.entries[i].known_for);
    for (std::size_t c = 0; c < columns_; ++c) {
      if (values_of(i)[c] < 0) continue;
      sum->second.values[c] += static_cast<double>(values_of(i)[c]) * weight;
      sum->second.weights[c] += weight;
    }
  }
  for (const std::size_t row : begun) {
    const Sum& sum = workloads.at(table.entries[row].workload);
    for (std::size_t c = 0; c < columns_; ++c) {
      if (sum.weights[c] <= 0) continue;
      table.values[row * columns_ + c] = static_cast<float>(sum.values[c] / sum.weights[c]);
      table.entries[row].known_for = static_cast<float>(seconds(kPrior));
    }
  }
}

void PodMeans::update(Entry& entry, float* values, const std::int64_t* amounts, double elapsed) const {
  const double known = std::min(static_cast<double>(entry.known_for) + elapsed, seconds(kSpan));
  const double part = known > 0 ? elapsed / known : 1;
  for (std::size_t c = 0; c < columns_; ++c) {
    if (amounts[c] == kUnknownUsage) continue;
    const auto amount = static_cast<double>(amounts[c]);
    const auto mean = static_cast<double>(values[c]);
    values[c] = static_cast<float>(mean < 0 ? amount : mean + part * (amount - mean));
  }
  entry.known_for = static_cast<float>(known);
}

}  // namespace controllers
