#pragma once

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods that share a topology domain with a pod that either side's required anti-affinity excludes. In
/// upstream mode, nominates only the pod with the term (upstream-semantics.md#anti-affinity).
class RemovePodsViolatingInterPodAntiAffinity final : public Strategy {
 public:
  static constexpr std::string_view kName = "RemovePodsViolatingInterPodAntiAffinity";

  struct Args {
    PodScope scope;  ///< Scope of victims; in upstream mode also of the pods that they conflict with
    friend bool operator==(const Args&, const Args&) = default;

    /// Errors are added to the errors of `args`.
    static Args read(api::StrictObject& args) { return {read_scope(args)}; }
  };

  explicit RemovePodsViolatingInterPodAntiAffinity(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kDeschedule; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;

 private:
  Args args_;
};

}  // namespace strategies
