#include "planning/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <unordered_set>

#include "planning/cycle_limits.hpp"
#include "planning/migrating.hpp"
#include "planning/pod_groups.hpp"
#include "planning/target.hpp"
#include "planning/unknown_namespaces.hpp"
#include "scheduling/evictability.hpp"
#include "scheduling/overlay.hpp"
#include "scheduling/pdb_budget.hpp"
#include "scheduling/predicates.hpp"
#include "strategies/catalog.hpp"

namespace planning {
namespace {

using scheduling::NodeIndex;
using scheduling::PodIndex;
using scheduling::Refusal;
using strategies::Verdict;

/// Unless the policy says, HighNodeUtilization is for clusters whose scheduler packs: with one that spreads it would
/// empty nodes indefinitely.
scheduling::NodeScoring assumed_scoring(const api::DeschedulerPolicySpec& spec) {
  using enum scheduling::NodeScoring;
  if (spec.scheduler.scoring)
    return *spec.scheduler.scoring == api::ScoringStrategyType::kMostAllocated ? kMostAllocated : kLeastAllocated;
  const bool packs =
      std::ranges::find(spec.strategies, "HighNodeUtilization", &api::StrategyChoice::name) != spec.strategies.end();
  return packs ? kMostAllocated : kLeastAllocated;
}

/// Takes the nominations of one cycle and makes the plan of them.
class PlanSink final : public strategies::NominationSink {
 public:
  PlanSink(const PlanInput& input, Plan& plan, const scheduling::Evictability& evictability,
           const std::vector<NodeIndex>& nodes)
      : input_(input),
        plan_(plan),
        evictability_(evictability),
        nodes_(nodes.begin(), nodes.end()),
        cluster_(input.cluster),
        overlay_(input.cluster),
        replacements_(input.spec.compatibility == api::Compatibility::kUpstream ? std::make_optional(overlay_)
                                                                                : std::nullopt),
        budgets_(input.cluster),
        limits_(input.spec.limits.per_cycle),
        predictor_(input.cluster, assumed_scoring(input.spec)),
        migrating_(input.cluster),
        pod_groups_(input.cluster),
        forbidden_(input.forbidden.begin(), input.forbidden.end()) {
    for (const api::PodUid& uid : input.cooling) cooling_.insert(uid.value);
  }

  /// What strategies see.
  const scheduling::Overlay& overlay() const { return overlay_; }
  /// The cluster once every replacement runs where it is expected.
  const scheduling::Overlay& outcome() const { return replacements_ ? *replacements_ : overlay_; }

  /// Pods that leave anyway: off their nodes before any strategy looks.
  void take_off(const std::vector<api::PodUid>& leaving) {
    if (leaving.empty()) return;
    std::unordered_set<std::string_view> uids;
    for (const api::PodUid& uid : leaving) uids.insert(uid.value);
    for (const PodIndex pod : cluster_.pods()) {
      if (uids.contains(cluster_.pod(pod).meta.uid)) relocate(pod);
    }
  }

  void begin(std::string_view strategy) {
    result_ = &plan_.strategies.emplace_back();
    result_->strategy = strategy;
  }
  void fail(const base::Error& error) { result_->problem = error.message; }

  Verdict offer(PodIndex pod, std::string_view reason) override { return nominate(pod, reason, {}); }
  Verdict offer_towards(PodIndex pod, std::string_view reason, const strategies::Goal& goal) override {
    return nominate(pod, reason, goal);
  }
  Verdict offer_whole(std::span<const PodIndex> pods, std::string_view reason, const strategies::Goal& goal) override {
    const Savepoint before{limits_, budgets_, plan_.moves.size(), result_->nominated};
    together_ = pods;
    Verdict verdict = Verdict::kAccepted;
    for (std::size_t i = 0; i < pods.size() && verdict == Verdict::kAccepted; ++i) {
      if (!overlay_.is_moved(pods[i])) verdict = nominate(pods[i], reason, goal);  // else it went with its group
    }
    together_ = {};
    if (verdict != Verdict::kAccepted) return roll_back(before), verdict;
    const auto is_misplaced = [&](PodIndex pod) { return goal && !goal(outcome().node_of(pod)); };
    const auto misplaced = std::ranges::find_if(pods, is_misplaced);
    if (misplaced == pods.end()) return Verdict::kAccepted;
    roll_back(before);
    return refuse(*misplaced, nowhere(goal, {}), Verdict::kRefused);
  }
  void refused(PodIndex pod, const Refusal& refusal) override { refuse(pod, refusal, Verdict::kRefused); }

  std::vector<api::ReasonCount> refusal_counts() const {
    std::vector<api::ReasonCount> counts;
    for (const auto& [reason, count] : refused_) counts.push_back({std::string(reason), count});
    return counts;
  }

 private:
  struct Savepoint {
    CycleLimits limits;
    scheduling::PdbBudgets budgets;
    std::size_t moves;
    std::int32_t nominated;
  };

  void roll_back(const Savepoint& to) {
    limits_ = to.limits;
    budgets_ = to.budgets;
    for (std::size_t i = to.moves; i < moved_.size(); ++i) restore(moved_[i]);
    moved_.resize(to.moves);
    plan_.moves.resize(to.moves);
    result_->nominated = to.nominated;
  }

  Verdict nominate(PodIndex pod, std::string_view reason, const strategies::Goal& goal) {
    const NodeIndex from = cluster_.node_of(pod);
    if (overlay_.is_moved(pod)) {
      return refuse(pod, {"AlreadyNominated", "it is nominated already in this cycle"}, Verdict::kRefused);
    }
    if (const auto refusal = kept(pod)) return refuse(pod, *refusal, Verdict::kRefused);
    if (const auto hit = limits_.hit(from, cluster_.namespace_of(pod))) return refuse(pod, hit->refusal, hit->verdict);
    if (const PodGroups::Members* pod_group = pod_groups_.of(pod))
      return offer_pod_group(*pod_group, pod, reason, goal);
    if (input_.options.spend_pdbs) {
      if (const auto refusal = budgets_.refusal(pod)) return refuse(pod, *refusal, Verdict::kRefused);
    }
    const Placement placement = relocate(pod, goal);
    const auto to = placement.node;
    if (!to && has_replacement(cluster_, pod) && input_.spec.compatibility != api::Compatibility::kUpstream) {
      restore(pod);
      return refuse(pod, nowhere(goal, placement), Verdict::kRefused);
    }
    if (input_.options.spend_pdbs) budgets_.spend(pod);
    limits_.count(from, cluster_.namespace_of(pod));
    record(pod, from, to, reason);
    return Verdict::kAccepted;
  }

  Refusal nowhere(const strategies::Goal& goal, const Placement& placement) const {
    if (placement.competing_node) {
      return {"SchedulerDisagrees",
              "it would leave, but the scheduler would put its replacement on {subject}, where that does not help",
              cluster_.node(*placement.competing_node).meta.name};
    }
    if (goal)
      return {"NowhereBetter", "it would leave, but no node that would help has free capacity for its replacement"};
    return {"NowhereToGo", "it would leave, but its replacement fits on no node"};
  }

  /// Stays where it is for now, whoever wants it moved.
  std::optional<Refusal> kept(PodIndex pod) {
    if (cooling_.contains(cluster_.pod(pod).meta.uid))
      return Refusal{"RecentlyEvacuated", "its last evacuation ended a moment ago"};
    if (forbidden_.contains(cluster_.pod(pod).meta.ns))
      return Refusal{"Forbidden", "the server does not let us move pods of this namespace"};
    return migrating_.refusal(pod);
  }

  /// All of them leave, or none. What the first try found out holds for the rest of the cycle: it only gets tighter.
  /// But where it would help the nominated pod to land is another question for each pod.
  Verdict offer_pod_group(const PodGroups::Members& pod_group, PodIndex pod, std::string_view reason,
                          const strategies::Goal& goal) {
    if (const auto known = refused_pod_groups_.find(&pod_group); known != refused_pod_groups_.end()) {
      return refuse_pod_group_member(pod, known->second);
    }
    PodGroupTrial trial({cluster_, input_.spec, evictability_, nodes_, input_.options.spend_pdbs}, outcome(), limits_,
                        budgets_);
    const auto goal_of = [&](PodIndex each) {
      const bool is_wanted = each == pod || std::ranges::find(together_, each) != together_.end();
      return is_wanted ? goal : strategies::Goal();
    };
    const auto moves = trial.run(
        pod_group, predictor_, [&](PodIndex each) { return kept(each); }, goal_of);
    if (moves) {
      accept_pod_group(pod_group, *moves, pod, reason, std::move(trial));
      return Verdict::kAccepted;
    }
    if (!goal) refused_pod_groups_.emplace(&pod_group, trial.refusal());
    return refuse_pod_group_member(pod, trial.refusal());
  }

  void accept_pod_group(const PodGroups::Members& pod_group, const std::vector<PodGroupTrial::Move>& moves,
                        PodIndex nominated, std::string_view reason, PodGroupTrial trial) {
    limits_ = std::move(trial.limits);
    budgets_ = std::move(trial.budgets);
    const std::string with_it = "leaves with group " + pod_group.name + ": " + std::string(reason);
    for (const PodGroupTrial::Move& move : moves) leave(move.pod);
    for (const PodGroupTrial::Move& move : moves) {
      if (move.to) arrive(move.pod, *move.to);
      record(move.pod, cluster_.node_of(move.pod), move.to, move.pod == nominated ? reason : with_it);
    }
  }

  void leave(PodIndex pod) {
    overlay_.move(pod, scheduling::kNoNode);
    if (replacements_) replacements_->move(pod, scheduling::kNoNode);
  }
  void arrive(PodIndex pod, NodeIndex to) { (replacements_ ? *replacements_ : overlay_).move(pod, to); }
  void restore(PodIndex pod) {
    overlay_.restore(pod);
    if (replacements_) replacements_->restore(pod);
  }

  /// Takes the pod off its node and holds the place where its replacement is expected.
  Placement relocate(PodIndex pod, const strategies::Goal& goal = {}) {
    leave(pod);
    if (!has_replacement(cluster_, pod)) return {};
    const Placement placement = predictor_.predict(outcome(), pod, goal);
    if (placement.node) arrive(pod, *placement.node);
    return placement;
  }

  void record(PodIndex pod, NodeIndex from, std::optional<NodeIndex> to, std::string_view reason) {
    const api::ObjectMeta& meta = cluster_.pod(pod).meta;
    plan_.moves.push_back(
        {meta.ns, meta.name, meta.uid, name_of(from), to ? name_of(*to) : "", result_->strategy, std::string(reason)});
    moved_.push_back(pod);
    ++result_->nominated;
  }

  Verdict refuse(PodIndex pod, const Refusal& refusal, Verdict verdict) {
    count_refusal(refusal.reason);
    if (shows_refusals()) {
      api::RefusedPod& row = plan_.refusals.emplace_back(row_of(pod, refusal.reason, refusal.message()));
      if (refusal.names("{subject}")) row.subject = refusal.subject;
      if (refusal.names("{wanted}")) row.wanted = refusal.wanted;
      if (refusal.names("{available}")) row.available = refusal.available;
    }
    return verdict;
  }

  Verdict refuse_pod_group_member(PodIndex pod, const PodGroupTrial::Reason& why) {
    count_refusal(why.reason);
    if (shows_refusals()) plan_.refusals.push_back(row_of(pod, why.reason, why.message));
    return Verdict::kRefused;
  }

  void count_refusal(std::string_view reason) {
    ++refused_[reason];
    ++result_->refused;
  }
  bool shows_refusals() const { return plan_.refusals.size() < input_.options.max_refusals; }
  api::RefusedPod row_of(PodIndex pod, std::string_view reason, std::string message) const {
    const api::ObjectMeta& meta = cluster_.pod(pod).meta;
    return {meta.ns,           meta.name,           meta.uid,          name_of(cluster_.node_of(pod)),
            result_->strategy, std::string(reason), std::move(message)};
  }

  std::string name_of(NodeIndex node) const { return node == scheduling::kNoNode ? "" : cluster_.node(node).meta.name; }

  const PlanInput& input_;
  Plan& plan_;
  const scheduling::Evictability& evictability_;
  const std::unordered_set<NodeIndex> nodes_;
  const scheduling::ClusterSnapshot& cluster_;
  scheduling::Overlay overlay_;
  /// With Compatibility::kUpstream nothing is reserved for what the strategies see, so replacements land here only.
  std::optional<scheduling::Overlay> replacements_;
  std::span<const PodIndex> together_;  ///< of the offer_whole() under way
  std::vector<PodIndex> moved_;         ///< one for each of plan_.moves
  scheduling::PdbBudgets budgets_;
  CycleLimits limits_;
  TargetPredictor predictor_;
  MigratingPods migrating_;
  PodGroups pod_groups_;
  std::map<const PodGroups::Members*, PodGroupTrial::Reason> refused_pod_groups_;
  std::unordered_set<std::string_view> cooling_;
  std::unordered_set<std::string_view> forbidden_;
  std::map<std::string_view, std::int32_t> refused_;  ///< reasons are static text
  StrategyResult* result_ = nullptr;
};

std::vector<NodeIndex> nodes_looked_at(const PlanInput& input) {
  std::vector<NodeIndex> nodes;
  for (const NodeIndex node : input.cluster.nodes()) {
    const api::Node& object = input.cluster.node(node);
    const bool selected = !input.spec.node_selector || input.spec.node_selector->matches(object.meta.labels);
    if (selected && scheduling::accepts_pods(object)) nodes.push_back(node);
  }
  return nodes;
}

void run_phase(strategies::Phase phase, const std::vector<strategies::ConfiguredStrategy>& configured,
               const strategies::Context& context, PlanSink& sink) {
  for (const strategies::ConfiguredStrategy& each : configured) {
    if (each.strategy->phase() != phase) continue;
    sink.begin(each.strategy->name());
    const base::Status done = each.strategy->nominate(context, sink);
    if (!done) sink.fail(done.error());
  }
}

std::vector<NodeUtilization> utilization_of(const std::vector<NodeIndex>& nodes, const scheduling::Overlay& overlay) {
  const scheduling::ClusterSnapshot& base = overlay.base();
  const auto amount = [&](NodeIndex node, scheduling::ResourceIndex resource) {
    using api::Quantity;
    return NodeUtilization::Amount{Quantity::from_milli(base.allocatable().get(node, resource)),
                                   Quantity::from_milli(base.used().get(node, resource)),
                                   Quantity::from_milli(overlay.used().get(node, resource))};
  };
  std::vector<NodeUtilization> rows;
  rows.reserve(nodes.size());
  for (const NodeIndex node : nodes) {
    rows.push_back({base.node(node).meta.name, amount(node, scheduling::kCpuIndex),
                    amount(node, scheduling::kMemoryIndex), amount(node, scheduling::kPodsIndex)});
  }
  return rows;
}

/// Why no strategy is asked. Upstream does nothing at all on a single node.
std::optional<api::FieldError> reason_to_idle(const PlanInput& input, std::size_t nodes) {
  if (nodes == 0 && input.spec.node_selector && input.cluster.node_count() > 0) {
    return api::FieldError{"spec.nodeSelector",
                           fmt::format("chooses no node that is ready, of {} in all", input.cluster.node_count())};
  }
  if (nodes >= 2 || input.spec.compatibility != api::Compatibility::kUpstream) return std::nullopt;
  return api::FieldError{"spec.compatibility",
                         fmt::format("Upstream does nothing with fewer than two nodes that are ready and chosen, here "
                                     "{}",
                                     nodes)};
}

}  // namespace

Plan plan_cycle(const PlanInput& input) {
  Plan plan;
  const std::vector<NodeIndex> nodes = nodes_looked_at(input);
  plan.nodes = static_cast<std::int32_t>(nodes.size());
  for (const NodeIndex node : nodes) plan.pods += static_cast<std::int32_t>(input.cluster.pods_on(node).size());

  // A protection that cannot be worked out stops everything; a strategy that cannot be read stops only itself.
  const scheduling::Evictability evictability(input.spec.evictability, input.cluster, input.now, plan.errors,
                                              input.spec.compatibility);
  if (!plan.errors.empty()) return plan;
  const auto configured = strategies::make_strategies(input.spec.strategies, plan.errors);
  UnknownNamespaces unknown = unknown_namespaces(input.spec, input.cluster);
  plan.warnings = std::move(unknown.included);
  plan.notes = std::move(unknown.excluded);

  if (const auto reason = reason_to_idle(input, nodes.size())) {
    plan.notes.push_back(*reason);
    plan.idle = reason->to_string();
    plan.utilization = utilization_of(nodes, scheduling::Overlay(input.cluster));
    return plan;
  }

  PlanSink sink(input, plan, evictability, nodes);
  sink.take_off(input.leaving);
  plan.strategies.reserve(configured.size());
  const strategies::Context context{sink.overlay(), nodes, evictability, input.now, nullptr, input.restarts};
  run_phase(strategies::Phase::kDeschedule, configured, context, sink);
  run_phase(strategies::Phase::kBalance, configured, context, sink);

  plan.refused = sink.refusal_counts();
  plan.utilization = utilization_of(nodes, sink.outcome());
  return plan;
}

}  // namespace planning
