#include "advisor/sketch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace advisor {
namespace {

/// A bucket extends from its bound to bound · kGamma. Its middle is within kRelativeError of all its values.
constexpr double kGamma = (1 + QuantileSketch::kRelativeError) / (1 - QuantileSketch::kRelativeError);

std::uint32_t saturated(std::uint64_t sum) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

double QuantileSketch::bucket_width() {
  static const double log_gamma = std::log(kGamma);
  return log_gamma;
}

int QuantileSketch::index_of(double value) { return static_cast<int>(std::ceil(std::log(value) / bucket_width())); }

void QuantileSketch::add(double value, std::uint32_t times) {
  if (times == 0) return;
  count_ += times;
  if (value >= smallest_)
    add_at(index_of(value), times);
  else
    zeros_ += times;
}

void QuantileSketch::add_bucket(int index, std::uint32_t times) {
  if (times == 0) return;
  count_ += times;
  if (index < index_of(smallest_)) {
    zeros_ += times;
    return;
  }
  add_at(index, times);
}

void QuantileSketch::add_at(int index, std::uint32_t times) {
  extend_to(index);
  const auto at = static_cast<std::size_t>(std::max(index - first_, 0));
  buckets_[at] = saturated(std::uint64_t{buckets_[at]} + times);
}

/// Extends the buckets to include `index`. Beyond kMaxBuckets, merges the lowest ones.
void QuantileSketch::extend_to(int index) {
  if (buckets_.empty()) first_ = index;
  const int last = std::max(index, first_ + static_cast<int>(buckets_.size()) - 1);
  const int lowest = last - static_cast<int>(kMaxBuckets) + 1;
  const int first = std::max(std::min(index, first_), lowest);
  if (first < first_) {
    buckets_.insert(buckets_.begin(), static_cast<std::size_t>(first_ - first), 0);
  } else if (first > first_) {
    const auto gone = std::min(static_cast<std::size_t>(first - first_), buckets_.size());
    std::uint64_t joined = 0;
    for (std::size_t i = 0; i < gone; ++i) joined += buckets_[i];
    buckets_.erase(buckets_.begin(), buckets_.begin() + static_cast<std::ptrdiff_t>(gone));
    if (buckets_.empty()) buckets_.push_back(0);
    buckets_.front() = saturated(buckets_.front() + joined);
  }
  first_ = first;
  buckets_.resize(static_cast<std::size_t>(last - first) + 1, 0);
}

void QuantileSketch::merge(const QuantileSketch& other) {
  count_ += other.count_;
  zeros_ += other.zeros_;
  for (std::size_t i = 0; i < other.buckets_.size(); ++i) {
    if (other.buckets_[i] > 0) add_at(other.first_ + static_cast<int>(i), other.buckets_[i]);
  }
}

double QuantileSketch::quantile(double q) const {
  if (count_ == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_)));
  std::uint64_t seen = zeros_;
  if (rank <= seen) return 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (rank <= seen) return 2 * std::pow(kGamma, first_ + static_cast<int>(i)) / (kGamma + 1);
  }
  return buckets_.empty() ? 0 : 2 * std::pow(kGamma, first_ + static_cast<int>(buckets_.size()) - 1) / (kGamma + 1);
}

std::optional<QuantileSketch> QuantileSketch::of(double smallest, double largest, Parts parts) {
  constexpr std::uint64_t kMaxZeros = std::uint64_t{1} << 48;
  if (parts.buckets.size() > kMaxBuckets || parts.zeros > kMaxZeros) return std::nullopt;
  const int lowest = index_of(smallest);
  const int highest = index_of(largest);
  const int size = static_cast<int>(parts.buckets.size());
  if (size > 0 && (parts.first < lowest || parts.first > highest - size + 1)) return std::nullopt;
  QuantileSketch sketch(smallest);
  sketch.first_ = parts.first;
  sketch.buckets_ = std::move(parts.buckets);
  sketch.zeros_ = parts.zeros;
  sketch.count_ = parts.zeros;
  for (const std::uint32_t count : sketch.buckets_) sketch.count_ += count;
  return sketch;
}

}  // namespace advisor
