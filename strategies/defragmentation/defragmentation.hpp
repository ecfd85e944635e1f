#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "strategies/defragmentation/rules.hpp"
#include "strategies/defragmentation/search.hpp"
#include "strategies/strategy.hpp"

namespace strategies {

/// Empties as many nodes as it can with few moves, swaps included (docs/strategies/defragmentation.md).
class Defragmentation final : public Strategy {
 public:
  static constexpr std::string_view kName = "Defragmentation";
  using Args = DefragmentationRules;

  explicit Defragmentation(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kBalance; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;

 private:
  DefragmentationPlan find_plan(const StrategyContext& context, const DefragmentationProblem& problem,
                                const LowerBound& bound, const NominationSink& sink, std::string& note) const;

  Args args_;
};

}  // namespace strategies
