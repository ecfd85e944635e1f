#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "scheduling/measured_usage.hpp"

namespace controllers {

/// What pods use usually: the mean of each since it is measured, of about a day at most. A new pod begins with the mean
/// of its workload's pods, which counts as kPrior of its own: those are pods of one namespace whose names are the same
/// up to the last dash. A pod that answers lack is remembered for kRemembered. Memory: about 80 bytes a pod; what
/// answers lack is at most as much again, and kMostMissing pods. Not thread-safe.
class PodMeans {
 public:
  static constexpr base::Duration kSpan = std::chrono::hours(24);
  static constexpr base::Duration kPrior = std::chrono::hours(4);
  static constexpr base::Duration kRemembered = std::chrono::hours(1);
  static constexpr std::size_t kMostMissing = 10'000;

  using Pods = scheduling::SharedVector<scheduling::MeasuredUsage::Pod>;
  using Amounts = scheduling::SharedVector<std::int64_t>;

  /// An answer that was received at `now`, as MeasuredUsage has it: `columns` amounts a pod. Returns the means in the
  /// same order and unit; kUnknownUsage where the amount was never known. Another number of columns than before: what
  /// was known is forgotten.
  std::vector<std::int64_t> take(const Pods& pods, const Amounts& amounts, std::size_t columns, base::TimePoint now);

 private:
  struct Entry {
    std::uint64_t workload = 0;
    std::uint32_t row = 0;  ///< in values_
    float known_for = 0;    ///< seconds, at most kSpan
    base::TimePoint seen{};
  };
  /// Of a workload's pods.
  struct Sum {
    std::vector<double> values;
    std::vector<double> weights;
  };

  Entry& entry_of(const scheduling::MeasuredUsage::Pod& pod);
  void sum_up_workloads();
  void begin_as_workload(Entry& entry);
  void update(Entry& entry, const std::int64_t* amounts, double elapsed);
  void forget(std::size_t present, base::TimePoint now);
  float* values_of(const Entry& entry) { return values_.data() + entry.row * columns_; }

  std::size_t columns_ = 0;
  std::optional<base::TimePoint> last_;
  std::unordered_map<std::uint64_t, Entry> entries_;  ///< by a hash of namespace and name
  std::vector<float> values_;                         ///< by row and column; below 0: not known
  std::vector<std::uint32_t> free_rows_;
  std::optional<std::unordered_map<std::uint64_t, Sum>> workloads_;  ///< of the answer before, while one is taken
};

}  // namespace controllers
