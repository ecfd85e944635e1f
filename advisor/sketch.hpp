#pragma once

/// Quantiles of a stream in bounded memory.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace advising {

/// Counts values in buckets whose bounds grow by a constant factor, so that every quantile is within kRelativeError of
/// an exact one (nearest rank), however many values there were: the published idea of DDSketch. Values below `smallest`
/// count as 0. At most kMaxBuckets buckets, 4 KB: nine decades in full; where values span more, the lowest buckets are
/// joined and only quantiles that fall into these lose their precision. Merging two sketches gives the sketch of all
/// values. Not thread-safe.
class QuantileSketch {
 public:
  static constexpr double kRelativeError = 0.01;
  static constexpr std::size_t kMaxBuckets = 1040;

  explicit QuantileSketch(double smallest) : smallest_(smallest) {}

  /// REQUIRES: value is finite; negative ones count as 0.
  void add(double value, std::uint32_t times = 1);
  /// Values of one bucket, that is index_of() of each of them.
  void add_bucket(int index, std::uint32_t times);
  /// ceil(ln(value) / bucket_width()). REQUIRES: value > 0.
  static int index_of(double value);
  static double bucket_width();
  /// REQUIRES: both have the same `smallest`.
  void merge(const QuantileSketch& other);

  std::uint64_t count() const { return count_; }
  /// 0 ≤ q ≤ 1. 0 when there are no values.
  double quantile(double q) const;
  std::size_t bucket_count() const { return buckets_.size(); }

  /// What it is made of, for whoever stores it.
  struct Parts {
    int first = 0;  ///< index of buckets[0]
    std::vector<std::uint32_t> buckets{};
    std::uint64_t zeros = 0;
  };
  Parts parts() const { return {first_, buckets_, zeros_}; }
  /// nullopt: no sketch of values up to `largest` has such parts.
  static std::optional<QuantileSketch> of(double smallest, double largest, Parts parts);

 private:
  void add_at(int index, std::uint32_t times);
  void make_room(int index);

  double smallest_;
  int first_ = 0;  ///< index of buckets_[0]
  std::vector<std::uint32_t> buckets_;
  std::uint64_t zeros_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace advising
