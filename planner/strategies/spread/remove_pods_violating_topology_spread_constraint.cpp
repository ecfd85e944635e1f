#include "planner/strategies/spread/remove_pods_violating_topology_spread_constraint.hpp"

#include <algorithm>
#include <array>

#include "planner/strategies/spread/balance.hpp"
#include "planner/strategies/spread/balance_upstream.hpp"

namespace strategies {
namespace {

constexpr std::string_view kDoNotSchedule = "DoNotSchedule";
constexpr std::array<std::string_view, 2> kConstraintKinds = {kDoNotSchedule, "ScheduleAnyway"};

}  // namespace

RemovePodsViolatingTopologySpreadConstraint::Args RemovePodsViolatingTopologySpreadConstraint::Args::read(
    api::StrictObject& args) {
  Args parsed;
  parsed.scope = read_scope(args);
  const auto kinds = read_choices(args, "constraints", kConstraintKinds);
  if (!kinds.empty()) {
    parsed.hard = std::ranges::find(kinds, kDoNotSchedule) != kinds.end();
    parsed.soft = std::ranges::any_of(kinds, [](const std::string& kind) { return kind != kDoNotSchedule; });
  }
  args.read("topologyBalanceNodeFit", parsed.node_fit);
  return parsed;
}

base::Status RemovePodsViolatingTopologySpreadConstraint::nominate(const StrategyContext& context,
                                                                   NominationSink& sink) const {
  if (context.is_upstream()) {
    const auto before = count_by_domain(context, sink, args_);
    balance_upstream(context, sink, args_);
    const auto after = count_by_domain(as_expected(context, sink), sink, args_);
    if (before && after) report_counts(kCountsByDomain, *before, *after, sink);
  } else {
    balance(context, sink, args_);
  }
  return base::Done{};
}

}  // namespace strategies
