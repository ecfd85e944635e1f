#include "planner/strategies/defragmentation/defragmentation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "api/meta/well_known.hpp"
#include "planner/strategies/defragmentation/bound/bound.hpp"
#include "planner/strategies/defragmentation/search.hpp"

namespace strategies {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::int64_t kMaxSteps = 4'000'000'000;  // for the greedy plan; more than any cluster needs
constexpr std::size_t kMaxHeld = 100;              // maximum rows in the report

std::function<bool()> stop_rule(const StrategyContext& context, base::Duration time_budget) {
  return [&context, time_budget, begin = context.elapsed ? context.elapsed() : base::Duration{}] {
    if (context.is_cancelled && context.is_cancelled()) return true;
    return context.elapsed && context.elapsed() - begin > time_budget;
  };
}

SearchLimits limits_of(const Defragmentation& rules, const LowerBound& bound, const NominationSink& sink) {
  SearchLimits limits{.max_freed = bound.max_freed()};
  if (rules.max_moves) limits.most_moves = static_cast<std::size_t>(*rules.max_moves);
  if (const auto left = sink.moves_left())
    limits.most_moves = std::min(limits.most_moves, static_cast<std::size_t>(*left));
  return limits;
}

std::int32_t count_empty(const DefragmentationProblem& problem, const std::vector<NodeIndex>& nodes) {
  return static_cast<std::int32_t>(std::ranges::count_if(nodes, [&](NodeIndex node) {
    bool is_empty = true;
    problem.cluster().for_each_on(node,
                                  [&](PodIndex pod) { is_empty = is_empty && !problem.has_to_stay_somewhere(pod); });
    return is_empty;
  }));
}

/// Names the limit that refused the pod. Running out of the cycle's time is reported with the same results as limits.
std::string_view limit_behind(NominationResult result, PodIndex pod, NominationSink& sink) {
  const bool may_be_time = result == NominationResult::kNamespaceLimit || result == NominationResult::kTotalLimit;
  if (may_be_time && sink.is_out_of_time(pod)) return "the time limit of the cycle does";
  switch (result) {
    case NominationResult::kNodeLimit: return "limits.perCycle.perNode does";
    case NominationResult::kNamespaceLimit: return "limits.perCycle.perNamespace does";
    case NominationResult::kTotalLimit: return "limits.perCycle.total does";
    default: return "the rules of the policy do";
  }
}

/// Offers the moves of the plan. Returns nullopt if all were accepted, otherwise the obstacle, because half of a swap
/// frees no node.
std::optional<std::string> offer_moves(const DefragmentationProblem& problem, const DefragmentationPlan& plan,
                                       NominationSink& sink) {
  for (const WaveMove& move : plan.moves) {
    sink.plan().start_wave(move.wave);
    const bool leaves_for_good = std::ranges::binary_search(plan.emptied, move.from);
    const Goal goal = [&](NodeIndex to) {
      if (move.is_chosen) return to == move.to;
      return problem.takes(to) && to != move.from && !std::ranges::binary_search(plan.avoided, to);
    };
    const NominationResult result = sink.offer_towards(
        move.pod, leaves_for_good ? "its node is emptied" : "frees capacity for a pod of a node that is emptied", goal);
    if (result == NominationResult::kAccepted) continue;
    const api::ObjectMeta& meta = problem.base().pod(move.pod).meta;
    return fmt::format(
        "the plan of {} moves that frees {} nodes is not executed: {} not allow {}/{} to move with the others",
        plan.moves.size(), plan.emptied.size(), limit_behind(result, move.pod, sink), meta.ns, meta.name);
  }
  return std::nullopt;
}

/// Offers the plan as a whole. Returns the reason if nothing of it is made, or "".
std::string offer(const DefragmentationProblem& problem, const DefragmentationPlan& plan, NominationSink& sink) {
  sink.plan().begin_plan();
  sink.plan().avoid(api::well_known::kEmptyingTaint, plan.avoided);
  const auto obstacle = offer_moves(problem, plan, sink);
  sink.plan().start_wave(0);
  sink.plan().end_plan(!obstacle);
  return obstacle.value_or("");
}

/// Explains why the plan is not made or could free more nodes.
std::string shortfall(const DefragmentationPlan& plan, bool is_enough, std::int32_t min_nodes_freed) {
  std::string note;
  if (!plan.emptied.empty() && !is_enough)
    note = fmt::format("{} nodes could be freed with {} moves, minNodesFreed is {}", plan.emptied.size(),
                       plan.moves.size(), min_nodes_freed);
  if (!plan.is_cut_short) return note;
  return note + (note.empty() ? "" : "; ") +
         fmt::format("timeBudget expired after {} nodes: raise it or narrow nodeSelector", plan.emptied.size());
}

}  // namespace

base::Status Defragmentation::nominate(const StrategyContext& context, NominationSink& sink) const {
  const auto should_stop = stop_rule(context, time_budget);
  const DefragmentationProblem problem(context, sink, *this);
  const LowerBound bound = lower_bound_of(problem, should_stop);
  EmptyingReport report;
  report.busy = static_cast<std::int32_t>(bound.busy);
  report.bound = static_cast<std::int32_t>(bound.max_freed());
  report.bound_reason = bound.reason;
  SearchBudget budget(kMaxSteps, should_stop);
  SearchLimits limits = limits_of(*this, bound, sink);
  if (limits.most_moves == 0) {
    limits.max_freed = 0;
  } else {
    limits.fewest_moves = fewest_moves(problem, should_stop);
  }
  limits.is_cancelled = context.is_cancelled;
  limits.should_stop = should_stop;
  limits.executor = context.executor;
  const auto origin = sink.plan().try_placements();
  const Capacities capacities(problem);
  DefragmentationPlan plan =
      DefragmentationSearch(problem, capacities, origin.get(), sink.plan().chooses_targets(), limits, budget, kSeed)
          .run();
  const bool is_enough = context.continues_plan || plan.emptied.size() >= static_cast<std::size_t>(min_nodes_freed);
  report.note =
      limits.most_moves == 0 ? "limits.perCycle.total allows no moves" : shortfall(plan, is_enough, min_nodes_freed);
  const bool is_undecided = plan.is_cut_short && (!is_enough || plan.moves.empty());
  if (!is_enough || plan.moves.empty()) plan = {};
  const bool may_taint = sink.plan().avoid(api::well_known::kEmptyingTaint, {});
  if (!may_taint && !sink.plan().chooses_targets() && report.note.empty())
    report.note = "the policy may not taint nodes, so only moves that the scheduler makes without taints are planned";
  if (std::string obstacle = offer(problem, plan, sink); !obstacle.empty()) {
    report.note = std::move(obstacle);
    plan = {};
  }
  for (const HeldNode& each : problem.held()) sink.refused(each.pod, each.refusal);
  report.freed = count_empty(problem, plan.emptied);
  report.held = held_nodes(problem, context.cluster, plan.avoided, kMaxHeld);
  const std::string note = report.note;
  sink.report(std::move(report));
  if (is_undecided) return base::Error{base::ErrorCode::kTimeout, note};
  return base::Done{};
}

}  // namespace strategies
