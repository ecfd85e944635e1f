#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/strategies/lifetime/criteria.hpp"
#include "planner/strategies/lifetime/terminal_pods.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods in phase Failed for cleanup, the oldest first (upstream-semantics.md#remove-failed-pods).
class RemoveFailedPods final : public Strategy {
 public:
  static constexpr std::string_view kName = "RemoveFailedPods";

  /// All given criteria must hold.
  struct Args {
    PodScope scope;
    std::vector<std::string> exclude_owner_kinds;
    std::uint32_t min_seconds = 3600;  ///< Minimum age
    std::vector<std::string> reasons;  ///< Pod reasons, or waiting or terminated reasons of containers
    std::vector<std::int32_t> exit_codes;
    bool init_containers = false;
    TerminalPods terminal_pods;  ///< `evict` is set by default, which is the purpose of the strategy
    friend bool operator==(const Args&, const Args&) = default;

    /// Errors are added to the errors of `args`.
    static Args read(api::StrictObject& args);
    Criteria criteria() const;
    Criteria criteria_upstream() const;

   private:
    Criteria criteria_with(Criterion age) const;
  };

  explicit RemoveFailedPods(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kDeschedule; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;

 private:
  void offer_failed_pods(const StrategyContext& context, NominationSink& sink) const;
  void clear_pods_upstream(const StrategyContext& context, NominationSink& sink) const;

  Args args_;
};

}  // namespace strategies
