#pragma once

#include <string>
#include <vector>

#include "planner/strategies/lifetime/criteria.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods whose containers restarted too often, the most restarts of a node first
/// (upstream-semantics.md#too-many-restarts).
class RemovePodsHavingTooManyRestarts final : public Strategy {
 public:
  static constexpr std::string_view kName = "RemovePodsHavingTooManyRestarts";

  struct Args {
    PodScope scope;
    RestartCriterion restarts{0, std::nullopt, {}};  ///< This number of restarts or more
    std::vector<std::string> states;                 ///< Running, CrashLoopBackOff; empty means any
    friend bool operator==(const Args&, const Args&) = default;

    /// Errors are added to the errors of `args`.
    static Args read(api::StrictObject& args);
    Criteria criteria() const;
  };

  explicit RemovePodsHavingTooManyRestarts(Args args) : args_(std::move(args)), criteria_(args_.criteria()) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kDeschedule; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;
  StrategyNeeds needs() const override { return {.restart_window = args_.restarts.within}; }

 private:
  Args args_;
  Criteria criteria_;
};

}  // namespace strategies
