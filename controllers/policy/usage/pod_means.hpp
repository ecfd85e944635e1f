#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "planner/snapshot/measured_usage.hpp"

namespace controllers {

/// Usual usage of pods: the mean per pod since it is measured, over at most about a day. A new pod starts with the
/// mean of its workload's pods (pods of one namespace whose names are equal up to the last dash), weighted like
/// kPrior of its own measurements. Pods missing in answers are remembered for kRemembered, at most as many as the
/// answer has plus kMaxMissing. Memory: 24 bytes per pod, and 4 per column. Not thread-safe.
class PodMeans {
 public:
  static constexpr base::Duration kSpan = std::chrono::hours(24);
  static constexpr base::Duration kPrior = std::chrono::hours(4);
  static constexpr base::Duration kRemembered = std::chrono::hours(1);
  static constexpr std::size_t kMaxMissing = 10'000;

  using Pods = scheduling::SharedVector<scheduling::MeasuredUsage::Pod>;
  using Amounts = scheduling::SharedVector<std::int64_t>;

  /// Adds an answer received at `now`, in the form of MeasuredUsage: `columns` amounts per pod. Returns the means
  /// in the same order and unit; kUnknownUsage where the amount was never known. A changed number of columns discards
  /// the state. An answer without pods is ignored.
  std::vector<std::int64_t> take(const Pods& pods, const Amounts& amounts, std::size_t columns, base::TimePoint now);

 private:
  struct Entry {
    std::uint64_t key = 0;  ///< hash of namespace and name
    std::uint64_t workload = 0;
    float known_for = 0;  ///< seconds, at most kSpan
    float seen = 0;       ///< seconds since first_
  };
  /// Entries sorted by key, with `columns_` values each; a negative value is unknown.
  struct Table {
    std::vector<Entry> entries;
    std::vector<float> values;
  };
  struct Named {
    std::uint64_t key;
    std::uint32_t pod;
  };

  /// Rows of an answer's pods in a table, and the rows that are new.
  struct Answer {
    std::vector<std::size_t> rows;
    std::vector<std::size_t> begun;
  };

  Table merged_with(const Pods& pods, Answer& answer) const;
  void keep(std::size_t entry, Table& table) const;
  void begin_as_workloads(Table& table, const std::vector<std::size_t>& begun) const;
  void update(Entry& entry, float* values, const std::int64_t* amounts, double elapsed) const;
  double since_first() const;
  const float* values_of(std::size_t entry) const { return known_.values.data() + entry * columns_; }

  std::size_t columns_ = 0;
  base::TimePoint first_{};
  std::optional<base::TimePoint> last_;
  Table known_;
};

}  // namespace controllers
