#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/strategies/lifetime/criteria.hpp"
#include "planner/strategies/lifetime/terminal_pods.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods by any combination of criteria, the oldest first: what the lifetime strategies are made of, for
/// whom none of them fits.
class PodCriteria final : public Strategy {
 public:
  static constexpr std::string_view kName = "PodCriteria";

  /// All criteria that are given must hold; at least one beside scope and owners is given.
  struct Args {
    PodScope scope;
    api::NamespaceFilter owner_kinds;
    std::optional<std::int64_t> min_age_seconds;  ///< at least this old
    std::vector<api::PodPhase> phases;
    std::vector<std::string> reasons;  ///< of the pod, or why a container waits or was terminated; any text
    std::vector<std::int32_t> exit_codes;
    std::vector<ConditionCriterion> conditions;
    std::optional<RestartCriterion> restarts;
    ContainerScope containers;
    TerminalPods terminal_pods;

    /// Complaints go to the object's list.
    static Args read(api::StrictObject& args);
    Criteria criteria() const;
  };

  explicit PodCriteria(Args args) : args_(std::move(args)), criteria_(args_.criteria()) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kDeschedule; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;
  std::optional<base::seconds> restart_window() const override {
    return args_.restarts ? args_.restarts->within : std::nullopt;
  }

 private:
  Args args_;
  Criteria criteria_;
};

}  // namespace strategies
