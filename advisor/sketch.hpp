#pragma once

/// Approximate quantiles of a stream in bounded memory.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace advisor {

/// Counts values in buckets whose bounds grow by a constant factor (DDSketch), so that every quantile is within
/// kRelativeError of the exact one (nearest rank), for any number of values. Values below `smallest` count as 0. Has at
/// most kMaxBuckets buckets (4 KB), which cover nine decades; for a wider range the lowest buckets are merged, and only
/// quantiles within them lose precision. Merging two sketches gives the sketch of all values. Not thread-safe.
class QuantileSketch {
 public:
  static constexpr double kRelativeError = 0.01;
  static constexpr std::size_t kMaxBuckets = 1040;

  explicit QuantileSketch(double smallest) : smallest_(smallest) {}

  /// `value` must be finite. Negative values count as 0.
  void add(double value, std::uint32_t times = 1);
  /// Adds values of one bucket. `index` is the index_of() of each of them.
  void add_bucket(int index, std::uint32_t times);
  /// Returns ceil(ln(value) / bucket_width()). `value` must be > 0.
  static int index_of(double value);
  static double bucket_width();
  /// Both sketches must have equal `smallest`.
  void merge(const QuantileSketch& other);

  std::uint64_t count() const { return count_; }
  /// Returns the quantile for 0 ≤ q ≤ 1, or 0 without values.
  double quantile(double q) const;
  std::size_t bucket_count() const { return buckets_.size(); }

  /// State of a sketch, for storage.
  struct Parts {
    int first = 0;  ///< index of buckets[0]
    std::vector<std::uint32_t> buckets{};
    std::uint64_t zeros = 0;
  };
  Parts parts() const { return {first_, buckets_, zeros_}; }
  /// Restores a sketch. Returns nullopt if `parts` are not those of a sketch of values up to `largest`.
  static std::optional<QuantileSketch> of(double smallest, double largest, Parts parts);

 private:
  void add_at(int index, std::uint32_t times);
  void extend_to(int index);

  double smallest_;
  int first_ = 0;  ///< index of buckets_[0]
  std::vector<std::uint32_t> buckets_;
  std::uint64_t zeros_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace advisor
