#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Measures how unevenly pods are distributed over places, summed over groups: over the domains of a topology spread
/// constraint, or over the nodes for pods of one owner. Only pods above a place's maximum count, in percent of the
/// group's mean, so that groups of all sizes are comparable. The sum is divided by the number of nodes rather than
/// places, so that adding an uneven group always increases the result and adding an even group does not lower it.
class UnevenCounts {
 public:
  explicit UnevenCounts(std::size_t nodes) : nodes_(nodes) {}

  /// Begins a group with this mean number of pods per place.
  void begin_group(double mean);
  /// Adds a place of the group, which may hold `most` pods. Places that are not added count as within their maximum.
  void add(std::int64_t pods, std::int64_t most);

  bool is_empty() const { return is_empty_; }
  /// Root of the sum of squares over all places of all groups, per node, in percent. 0 if no place exceeds its maximum.
  double deviation() const;
  /// Highest ratio of a place's pods to its group's mean, among places above their maximum. 0 if there is none.
  double peak() const { return peak_; }

 private:
  std::size_t nodes_;
  bool is_empty_ = true;
  double mean_ = 0;
  double squares_ = 0;
  double peak_ = 0;
};

/// Returns the context with the sink's expected cluster, if the sink predicts placements.
StrategyContext as_expected(const StrategyContext& context, const NominationSink& sink);

/// Reports the counts to the sink, unless there was no group.
void report_counts(std::string_view counted, const UnevenCounts& before, const UnevenCounts& after,
                   NominationSink& sink);

}  // namespace strategies
