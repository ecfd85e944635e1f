#include "planner/strategies/uneven_counts.hpp"

#include <algorithm>
#include <cmath>

namespace strategies {

void UnevenCounts::begin_group(double mean) {
  is_empty_ = false;
  mean_ = mean;
}

void UnevenCounts::add(std::int64_t pods, std::int64_t most) {
  if (pods <= most || mean_ <= 0) return;
  const double above = 100 * static_cast<double>(pods - most) / mean_;
  squares_ += above * above;
  peak_ = std::max(peak_, static_cast<double>(pods) / mean_);
}

double UnevenCounts::deviation() const { return nodes_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(nodes_)); }

StrategyContext as_expected(const StrategyContext& context, const NominationSink& sink) {
  const WhatIf* const expected = sink.plan().expected_cluster();
  return {expected != nullptr ? *expected : context.cluster, context.nodes, context.evictability, context.now};
}

void report_counts(std::string_view counted, const UnevenCounts& before, const UnevenCounts& after,
                   NominationSink& sink) {
  if (before.is_empty()) return;
  sink.report(CountReport{std::string(counted), before.deviation(), after.deviation(), before.peak(), after.peak()});
}

}  // namespace strategies
