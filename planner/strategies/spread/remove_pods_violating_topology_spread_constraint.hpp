#pragma once

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods of overfull topology domains, so that spread constraints hold again
/// (upstream-semantics.md#topology-spread).
class RemovePodsViolatingTopologySpreadConstraint final : public Strategy {
 public:
  static constexpr std::string_view kName = "RemovePodsViolatingTopologySpreadConstraint";

  struct Args {
    PodScope scope;
    bool hard = true;      ///< constraints with DoNotSchedule
    bool soft = false;     ///< constraints with ScheduleAnyway
    bool node_fit = true;  ///< skip pods that fit no node of an underfull domain
    friend bool operator==(const Args&, const Args&) = default;

    /// Reads the arguments. Errors are added to the object's list.
    static Args read(api::StrictObject& args);
  };

  explicit RemovePodsViolatingTopologySpreadConstraint(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kBalance; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;

 private:
  Args args_;
};

}  // namespace strategies
