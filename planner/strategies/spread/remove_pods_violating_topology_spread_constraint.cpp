#include "planner/strategies/spread/remove_pods_violating_topology_spread_constraint.hpp"

#include <algorithm>
#include <array>

#include "planner/strategies/spread/balance.hpp"

namespace strategies {
namespace {

constexpr std::string_view kDoNotSchedule = "DoNotSchedule";
constexpr std::array<std::string_view, 2> kConstraintKinds = {kDoNotSchedule, "ScheduleAnyway"};

}  // namespace

SpreadArgs SpreadArgs::read(api::StrictObject& args) {
  SpreadArgs parsed;
  parsed.scope = read_scope(args);
  const auto kinds = read_choices(args, "constraints", kConstraintKinds);
  if (!kinds.empty()) {
    parsed.hard = std::ranges::find(kinds, kDoNotSchedule) != kinds.end();
    parsed.soft = std::ranges::any_of(kinds, [](const std::string& kind) { return kind != kDoNotSchedule; });
  }
  args.read("topologyBalanceNodeFit", parsed.node_fit);
  return parsed;
}

base::Status SpreadArgs::nominate(const StrategyContext& context, NominationSink& sink) const {
  if (context.is_upstream()) {
    const auto before = count_by_domain(context, sink, *this);
    balance_upstream(context, sink, *this);
    const auto after = count_by_domain(as_expected(context, sink), sink, *this);
    if (before && after) report_counts(kCountsByDomain, *before, *after, sink);
  } else {
    balance(context, sink, *this);
  }
  return base::Done{};
}

}  // namespace strategies
