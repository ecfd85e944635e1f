#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "api/meta/well_known.hpp"
#include "planner/strategies/defragmentation/rules.hpp"
#include "planner/strategies/defragmentation/search.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Empties as many nodes as possible with few moves, including swaps (docs/strategies/defragmentation.md).
class Defragmentation final : public Strategy {
 public:
  static constexpr std::string_view kName = "Defragmentation";
  using Args = DefragmentationRules;

  explicit Defragmentation(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kBalance; }
  StrategyNeeds needs() const override { return {.soft_taint = api::well_known::kEmptyingTaint}; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;

 private:
  bool frees_enough(const DefragmentationPlan& plan) const;
  std::string shortfall(const DefragmentationPlan& plan, bool is_enough) const;

  Args args_;
};

}  // namespace strategies
