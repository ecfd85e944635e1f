#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/strategies/lifetime/criteria.hpp"
#include "planner/strategies/lifetime/terminal_pods.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods by any combination of criteria, the oldest first. For cases that no specialized lifetime strategy
/// covers.
class PodCriteria final : public Strategy {
 public:
  static constexpr std::string_view kName = "PodCriteria";

  /// All given criteria must hold. At least one criterion other than scope and owners is required.
  struct Args {
    PodScope scope;
    api::NamespaceFilter owner_kinds;
    std::optional<std::int64_t> min_age_seconds;  ///< Minimum age
    std::vector<api::PodPhase> phases;
    std::vector<std::string> reasons;  ///< Pod reasons, or waiting or terminated reasons of containers; any text
    std::vector<std::int32_t> exit_codes;
    std::vector<ConditionCriterion> conditions;
    std::optional<RestartCriterion> restarts;
    ContainerScope containers;
    TerminalPods terminal_pods;

    /// Errors are added to the errors of `args`.
    static Args read(api::StrictObject& args);
    Criteria criteria() const;
  };

  explicit PodCriteria(Args args) : args_(std::move(args)), criteria_(args_.criteria()) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kDeschedule; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;
  StrategyNeeds needs() const override {
    return {.restart_window = args_.restarts ? args_.restarts->within : std::nullopt};
  }

 private:
  Args args_;
  Criteria criteria_;
};

}  // namespace strategies
