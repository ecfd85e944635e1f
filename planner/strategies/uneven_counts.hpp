#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Adds up how unevenly pods are spread over places, group by group: over the domains of a topology spread constraint,
/// over the nodes of one owner's copies. Only pods above what a place may hold count, in percent of the mean of its
/// group, so that groups of all sizes add up. The sum is divided by the number of nodes and not by that of places: one
/// more uneven group is more in any case, and one more even group is no less.
class UnevenCounts {
 public:
  explicit UnevenCounts(std::size_t nodes) : nodes_(nodes) {}

  /// With so many pods on the mean of its places.
  void begin_group(double mean);
  /// A place of that group, which may hold `most`. Those that nobody tells hold no more than they may.
  void add(std::int64_t pods, std::int64_t most);

  bool is_empty() const { return is_empty_; }
  /// Root of the sum of squares over all places of all groups, per node, in percent; 0: no place holds more than it
  /// may.
  double deviation() const;
  /// The most pods of a place over its group's mean, among places that hold more than they may; 0: none does.
  double peak() const { return peak_; }

 private:
  std::size_t nodes_;
  bool is_empty_ = true;
  double mean_ = 0;
  double squares_ = 0;
  double peak_ = 0;
};

/// The context with the cluster that the sink expects, if it expects one.
StrategyContext as_expected(const StrategyContext& context, const NominationSink& sink);

/// Tells the sink, unless there was no group.
void report_counts(std::string_view counted, const UnevenCounts& before, const UnevenCounts& after,
                   NominationSink& sink);

}  // namespace strategies
