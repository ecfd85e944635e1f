#include "planner/plan/plan_builder.hpp"

#include <algorithm>
#include <utility>

#include "api/evacuation.hpp"
#include "api/meta/well_known.hpp"
#include "api/pod_group.hpp"
#include "planner/scheduling/predicates.hpp"
#include "planner/snapshot/autoscaler_marks.hpp"
#include "planner/strategies/listing.hpp"

namespace planner {
namespace {

scheduling::SchedulerRules rules_for(const PlanInput& input) {
  const auto minor = input.spec.scheduler_minor ? input.spec.scheduler_minor : input.server_minor;
  return minor ? scheduling::scheduler_rules(*minor) : scheduling::SchedulerRules{};
}

/// Returns true if config/placement-webhook/webhook.yaml selects pods like this one. The replacement has the same
/// labels.
bool webhook_sees(const api::Pod& pod, const std::vector<std::string>& spared) {
  return std::ranges::find(spared, pod.meta.ns) == spared.end() &&
         pod.meta.labels.value(api::well_known::kPlacementLabel) != "Ignore" &&
         pod.meta.labels.value("app.kubernetes.io/name") != "evacuator";
}

/// Returns true if pods of more than one namespace are on the nodes. kube-system is not counted, because its pods
/// belong to the cluster and need no share.
bool are_shared(const std::vector<NodeIndex>& nodes, const ClusterSnapshot& cluster) {
  const auto system = cluster.find_namespace("kube-system");
  std::optional<scheduling::NamespaceIndex> first;
  bool are_shared = false;
  for (std::size_t i = 0; i < nodes.size() && !are_shared; ++i) {
    for (const PodIndex pod : cluster.pods_on(nodes[i])) {
      const scheduling::NamespaceIndex ns = cluster.namespace_of(pod);
      if (ns == system) continue;
      are_shared = are_shared || first.value_or(ns) != ns;
      first = ns;
    }
  }
  return are_shared;
}

}  // namespace

PlanBuilder::PlanBuilder(const PlanInput& input, const scheduling::EvictabilityRules& evictability,
                         const std::vector<NodeIndex>& nodes, Plan& plan)
    : input_(input),
      evictability_(evictability),
      nodes_(nodes.begin(), nodes.end()),
      plan_(plan),
      cluster_(input.cluster),
      what_if_(input.cluster),
      replacements_(input.spec.is_upstream() ? std::make_optional(what_if_) : std::nullopt),
      arrived_(input.cluster.node_count(), false),
      budgets_(input.cluster),
      limits_(input.spec.limits.per_cycle),
      rules_(rules_for(input)),
      predictor_(input.cluster, input.spec.scoring, rules_),
      migrating_(input.cluster),
      pod_groups_(input.cluster),
      cooling_(input.cooling),
      forbidden_(input.forbidden.begin(), input.forbidden.end()),
      time_(input.options.time_limit, input.options.elapsed, are_shared(nodes, input.cluster)) {
  begin_soft_taints();
  place_leaving(input.leaving);
  if (input.spec.is_upstream()) return;
  for (const NodeIndex node : cluster_.nodes()) {
    const scheduling::NodeRemoval removal = scheduling::removal_of(cluster_.node(node));
    if (removal != scheduling::NodeRemoval::kNone) removed_.insert(node);
    if (removal == scheduling::NodeRemoval::kUnderWay) place_from_removed(node);
  }
  pending_.place(what_if_, predictor_, input.options.heartbeat);  // before any replacement of this plan
}

void PlanBuilder::begin(std::string_view strategy, BalanceMeter* meter) {
  meter_ = meter;
  time_.leave_namespace();
  // A strategy after a plan in waves counts on all its waves; a plan in waves counts on all moves before it.
  for (const api::PlannedMove& move : plan_.moves) waves_before_ = std::max({waves_before_, move.wave, 1});
  wave_ = is_in_waves() ? waves_before_ + 1 : 0;
  may_avoid_ = {};
  on_disagreement_ = {};
  result_ = &plan_.strategies.emplace_back();
  result_->strategy = strategy;
}

NominationResult PlanBuilder::offer_anyway(PodIndex pod, std::string_view reason, const Goal& goal) {
  needs_no_node_ = true;
  const NominationResult result = nominate(pod, reason, goal);
  needs_no_node_ = false;
  return result;
}

NominationResult PlanBuilder::offer_whole(std::span<const PodIndex> pods, std::string_view reason, const Goal& goal) {
  const Savepoint before = savepoint();
  together_ = pods;
  NominationResult result = NominationResult::kAccepted;
  for (std::size_t i = 0; i < pods.size() && result == NominationResult::kAccepted; ++i) {
    if (!what_if_.is_moved(pods[i])) result = nominate(pods[i], reason, goal);  // otherwise it left with its group
  }
  together_ = {};
  if (result != NominationResult::kAccepted) return roll_back(before), result;
  const auto is_misplaced = [&](PodIndex pod) { return goal && !goal(outcome().node_of(pod)); };
  const auto misplaced = std::ranges::find_if(pods, is_misplaced);
  if (misplaced == pods.end()) return NominationResult::kAccepted;
  roll_back(before);
  return refuse(*misplaced, no_placement(goal, {}));
}

void PlanBuilder::end_plan(bool keep) {
  if (!keep) {
    roll_back(whole_->begin);
    arrived_ = whole_->arrived;
  }
  whole_.reset();
  if (!is_in_waves()) return;
  for (api::PlannedMove& move : plan_.moves) move.wave = std::max(move.wave, 1);
}

bool PlanBuilder::is_in_waves() const {
  return std::ranges::any_of(plan_.moves, [](const api::PlannedMove& move) { return move.wave > 0; });
}

bool PlanBuilder::avoid(std::string_view key, std::span<const NodeIndex> nodes) {
  if (key == api::well_known::kLoadedTaint && !pledged_.empty()) asked_.insert(nodes.begin(), nodes.end());
  if (replacements_) add_soft_taint(*replacements_, key, nodes);
  return add_soft_taint(what_if_, key, nodes);
}

std::optional<Refusal> PlanBuilder::objection(PodIndex pod) {
  if (what_if_.is_moved(pod)) return Refusal{"AlreadyNominated", "it is already nominated in this cycle"};
  if (auto refusal = staying(pod)) return refusal;
  if (pod_groups_.of(pod) != nullptr)
    return Refusal{"GroupMemberStays", "its PodGroup leaves as a whole or not at all"};
  return input_.options.spend_pdbs ? budgets_.refusal(pod) : std::nullopt;
}

std::unique_ptr<strategies::WhatIfPlacement> PlanBuilder::try_placements() const {
  return std::make_unique<PlannedPlacement>(outcome(), predictor_, pending_,
                                            [this](PodIndex pod) { return target_choice(pod); });
}

bool PlanBuilder::is_taint_promised(std::string_view key, NodeIndex node) const {
  return key == api::well_known::kLoadedTaint && std::ranges::binary_search(pledged_, node);
}

bool PlanBuilder::bears(std::string_view key, NodeIndex node) const {
  return std::ranges::any_of(cluster_.node(node).taints, [&](const api::Taint& taint) {
    return taint.key == key && taint.value == input_.options.taint_value &&
           taint.effect == api::TaintEffect::kPreferNoSchedule;
  });
}

std::vector<api::ReasonCount> PlanBuilder::refusal_counts() const {
  std::vector<api::ReasonCount> counts;
  for (const auto& [reason, count] : refused_) counts.push_back({std::string(reason), count});
  return counts;
}

// --- One nomination

NominationResult PlanBuilder::nominate(PodIndex pod, std::string_view reason, const Goal& wanted) {
  if (is_out_of_time(pod)) {
    return refuse(pod, strategies::kCycleTimeout,
                  time_.is_over() ? NominationResult::kTotalLimit : NominationResult::kNamespaceLimit);
  }
  const Goal sparing = removed_.empty() ? Goal() : sparing_removed(wanted);
  const Goal& goal = removed_.empty() ? wanted : sparing;
  if (what_if_.is_moved(pod)) return refuse(pod, {"AlreadyNominated", "it is already nominated in this cycle"});
  if (const auto refusal = staying(pod)) return refuse(pod, *refusal);
  if (const auto hit = limits_.hit(cluster_.node_of(pod), cluster_.namespace_of(pod)))
    return refuse(pod, hit->refusal, hit->result);
  if (const PodGroups::Members* pod_group = pod_groups_.of(pod)) return nominate_group(*pod_group, pod, reason, goal);
  return nominate_alone(pod, reason, goal);
}

bool PlanBuilder::is_out_of_time(PodIndex pod) {
  beat();
  if (!time_.is_over_for(cluster_.namespace_of(pod))) return false;
  warn_of_time(pod);
  return true;
}

void PlanBuilder::warn_of_time(PodIndex pod) {
  if (time_.is_over()) {
    if (!std::exchange(is_end_warned_, true))
      plan_.warnings.push_back(
          {"spec.strategies",
           "the cycle has spent " + base::format_duration(*input_.options.time_limit) + ": it moves no more pods"});
    return;
  }
  if (warned_.size() == kMaxTimeWarnings || !warned_.insert(cluster_.namespace_of(pod)).second) return;
  plan_.warnings.push_back(
      {"spec.strategies",
       "pods of namespace " + cluster_.pod(pod).meta.ns +
           " have spent their share of the cycle's time: the remaining pods of it are not evaluated"});
}

NominationResult PlanBuilder::nominate_alone(PodIndex pod, std::string_view reason, const Goal& goal) {
  if (input_.options.spend_pdbs) {
    if (const auto refusal = budgets_.refusal(pod)) return refuse(pod, *refusal);
  }
  const SoftTaints before = may_avoid_ ? what_if_.soft_taints() : SoftTaints();
  const Placement placement = relocate(pod, goal);
  const bool needs_node = has_replacement(cluster_, pod) && !(needs_no_node_ && placement.fits_nowhere);
  if (!placement.node && needs_node && !input_.spec.is_upstream()) {
    take_back(pod, before);
    const Refusal why = no_placement(goal, placement);
    if (placement.competing_node && on_disagreement_) return on_disagreement_(why), NominationResult::kRefused;
    return refuse(pod, why, NominationResult::kRefused,
                  [&] { return placement.competing_node ? std::string() : why_no_placement(pod, goal); });
  }
  const std::optional<double> score = score_of(pod, placement.node);
  if (score.value_or(100) < input_.spec.convergence.min_score) {
    take_back(pod, before);
    return refuse(pod, {"ScoreTooLow", "its move would gain too little in relation to the disruption"});
  }
  if (input_.options.spend_pdbs) budgets_.spend(pod);
  limits_.count(cluster_.node_of(pod), cluster_.namespace_of(pod));
  record(pod, placement.node, reason, score);
  return NominationResult::kAccepted;
}

/// Nominates a whole group. The goal applies only to nominated pods; other members may go anywhere. GroupDoesNotFit may
/// therefore differ from pod to pod and is cached only without a goal. Refusals are not cached either while moves may
/// still be rolled back.
NominationResult PlanBuilder::nominate_group(const PodGroups::Members& pod_group, PodIndex pod, std::string_view reason,
                                             const Goal& goal) {
  if (const auto known = refused_pod_groups_.find(&pod_group); known != refused_pod_groups_.end())
    return refuse_group_member(pod, known->second);
  if (pod_group.pods.size() > api::kMaxPodsOfPodGroup) {
    const auto why = PodGroupWhatIf::too_large(pod_group);
    return refuse_group_member(pod, refused_pod_groups_.emplace(&pod_group, why).first->second);
  }
  PodGroupWhatIf what_if({cluster_, input_.spec.limits.in_flight, evictability_, nodes_, input_.options.spend_pdbs},
                         outcome(), limits_, budgets_);
  const auto goal_of = [&](PodIndex each) {
    const bool is_nominated = each == pod || std::ranges::find(together_, each) != together_.end();
    return is_nominated ? goal : sparing_removed({});
  };
  const auto moves = what_if.run(
      pod_group, predictor_, [&](PodIndex each) { return staying(each); }, goal_of);
  if (!moves) {
    const bool holds_for_all = what_if.refusal().reason != "GroupDoesNotFit" && together_.empty() && !whole_;
    if (!goal || holds_for_all) refused_pod_groups_.emplace(&pod_group, what_if.refusal());
    return refuse_group_member(pod, what_if.refusal());
  }
  limits_ = std::move(what_if.limits);
  budgets_ = std::move(what_if.budgets);
  accept_group(pod_group, *moves, pod, reason);
  return NominationResult::kAccepted;
}

void PlanBuilder::accept_group(const PodGroups::Members& pod_group, const std::vector<Move>& moves, PodIndex nominated,
                               std::string_view reason) {
  const std::string with_it = "leaves with PodGroup " + pod_group.name + ": " + std::string(reason);
  for (const Move& move : moves) leave(move.pod);
  for (const Move& move : moves) {
    if (move.to) arrive(move.pod, *move.to);
    record(move.pod, move.to, move.pod == nominated ? reason : with_it, score_of(move.pod, move.to));
  }
  for (const Move& move : moves) pending_.take_capacity(what_if_, move.pod, cluster_.node_of(move.pod));
}

/// Returns why the pod stays for now, regardless of which strategy nominates it.
std::optional<Refusal> PlanBuilder::staying(PodIndex pod) {
  if (cooling_.contains(cluster_.pod(pod)))
    return Refusal{"RecentlyEvacuated", "its last evacuation ended recently, or an Evacuation of it is waiting"};
  if (forbidden_.contains(cluster_.pod(pod).meta.ns))
    return Refusal{"Forbidden", "the API server does not allow the operator to move pods of this namespace"};
  return migrating_.refusal(pod);
}

std::optional<double> PlanBuilder::score_of(PodIndex pod, std::optional<NodeIndex> to) const {
  return meter_ == nullptr ? std::nullopt : std::optional(meter_->score(pod, cluster_.node_of(pod), to));
}

Refusal PlanBuilder::no_placement(const Goal& goal, const Placement& placement) const {
  if (placement.competing_node) {
    return {"SchedulerDisagrees",
            "it would leave, but the scheduler would place its replacement on {subject}, where the move does not help",
            cluster_.node(*placement.competing_node).meta.name};
  }
  if (goal) return {"NowhereBetter", "it would leave, but no node where the move helps accepts its replacement"};
  return {"NowhereToGo", "it would leave, but its replacement does not fit on any node"};
}

/// Collects the reasons of the nodes that the goal accepts, or of all nodes without a goal.
std::string PlanBuilder::why_no_placement(PodIndex pod, const Goal& goal) const {
  return scheduling::misfits_of(outcome(), pod, scheduling::FitLevel::kScheduler,
                                [&](NodeIndex node) { return !goal || goal(node); })
      .text();
}

void PlanBuilder::avoid_as(const SoftTaints& before) {
  const auto count = [](const scheduling::SoftTaint& taint) { return taint.nodes.size(); };
  // Taints are only ever added, so equal counts mean no change.
  if (std::ranges::equal(what_if_.soft_taints(), before, {}, count, count)) return;
  for (const scheduling::SoftTaint& taint : before) set_soft_taint(taint);
}

void PlanBuilder::take_back(PodIndex pod, const SoftTaints& before) {
  restore(pod);
  if (may_avoid_) avoid_as(before);
}

PlanBuilder::Savepoint PlanBuilder::savepoint() const {
  return {limits_, budgets_, plan_.moves.size(), result_->nominated, what_if_.soft_taints()};
}

void PlanBuilder::roll_back(const Savepoint& to) {
  limits_ = to.limits;
  budgets_ = to.budgets;
  for (std::size_t i = to.moves; i < moved_.size(); ++i) {
    if (meter_ != nullptr) meter_->move(moved_[i], outcome().node_of(moved_[i]), cluster_.node_of(moved_[i]));
    restore(moved_[i]);
  }
  moved_.resize(to.moves);
  plan_.moves.resize(to.moves);
  result_->nominated = to.nominated;
  avoid_as(to.avoided);
}

// --- Where pods are

/// Creates one taint per key, to which strategies can add nodes.
void PlanBuilder::begin_soft_taints() {
  if (!input_.options.taint_value) return;
  for (const std::string& name : input_.options.pledged) {
    if (const auto node = cluster_.find_node(name)) pledged_.push_back(*node);
  }
  std::ranges::sort(pledged_);
  for (const std::string_view key : api::well_known::kSoftTaints) {
    const bool is_loaded = key == api::well_known::kLoadedTaint;
    set_soft_taint({std::string(key), *input_.options.taint_value, is_loaded ? pledged_ : std::vector<NodeIndex>()});
  }
}

void PlanBuilder::set_soft_taint(const scheduling::SoftTaint& taint) {
  what_if_.set_soft_taint(taint);
  if (replacements_) replacements_->set_soft_taint(taint);
}

void PlanBuilder::place_leaving(const std::vector<PodIdentity>& leaving) {
  if (leaving.empty()) return;
  const PodSet pods(leaving);
  for (const PodIndex pod : cluster_.pods()) {
    const PodIdentity* const identity = pods.find(cluster_.pod(pod));
    if (identity == nullptr) continue;
    beat();
    place_leaving(pod, *identity);
  }
}

void PlanBuilder::place_leaving(PodIndex pod, const PodIdentity& leaving) {
  // The replacement of a terminating pod already exists, unless it is created only after the pod's end.
  if (cluster_.pod(pod).meta.is_terminating() && is_replaced_at_once(cluster_, pod)) return leave(pod);
  if (!may_reserve(pod)) return leave(pod);
  const auto hinted = gives_hint_to(pod) ? cluster_.find_node(leaving.hinted) : std::nullopt;
  if (hinted && relocate(pod, [&](NodeIndex node) { return node == *hinted; }).node) return;
  if (hinted) restore(pod);
  relocate(pod);
}

/// Moves the pods off the node, because their replacements need capacity elsewhere.
void PlanBuilder::place_from_removed(NodeIndex node) {
  for (const PodIndex pod : cluster_.pods_on(node)) {
    if (what_if_.is_moved(pod) || !cluster_.is_staying(pod) || !has_replacement(cluster_, pod)) continue;
    beat();
    may_reserve(pod) ? void(relocate(pod)) : leave(pod);
  }
}

/// Returns false if predicting a node for each leaving pod of the namespace would take too long.
bool PlanBuilder::may_reserve(PodIndex pod) {
  std::size_t& cost = reserved_[cluster_.namespace_of(pod)];
  if (cost < kMaxReservedCost) cost += cost_of(cluster_.pod(pod));
  return cost < kMaxReservedCost;
}

Goal PlanBuilder::sparing_removed(const Goal& goal) const {
  if (removed_.empty()) return goal;
  return [this, goal](NodeIndex node) { return !removed_.contains(node) && (!goal || goal(node)); };
}

void PlanBuilder::leave(PodIndex pod) {
  what_if_.move(pod, scheduling::kNoNode);
  if (replacements_) replacements_->move(pod, scheduling::kNoNode);
}

void PlanBuilder::restore(PodIndex pod) {
  pending_.give_back(what_if_, pod);
  what_if_.restore(pod);
  if (replacements_) replacements_->restore(pod);
}

/// Takes the pod off its node and reserves capacity where its replacement is expected: next to the old pod, or after it
/// is gone if there is no node before that.
Placement PlanBuilder::relocate(PodIndex pod, const Goal& goal) {
  WhatIf& cluster = replacements_ ? *replacements_ : what_if_;
  Placement placement = predict_replacement(cluster, predictor_, pod, pending_, goal, target_choice(pod));
  while (goal && placement.competing_node && !placement.tied && avoids(*placement.competing_node)) {
    pending_.give_back(cluster, pod);
    cluster.restore(pod);
    placement = predict_replacement(cluster, predictor_, pod, pending_, goal, target_choice(pod));
  }
  if (replacements_) what_if_.move(pod, scheduling::kNoNode);
  // The scheduler does not see measured load and picks randomly among nodes with equal scores, so one tied node that
  // helps is enough.
  if (placement.tied && meter_ != nullptr && meter_->is_by_load()) placement.node = placement.tied;
  if (placement.node) arrive(pod, *placement.node);
  pending_.take_capacity(what_if_, pod, cluster_.node_of(pod));
  return placement;
}

bool PlanBuilder::gives_hint_to(PodIndex pod) const {
  return chooses_targets() && webhook_sees(cluster_.pod(pod), input_.options.namespaces_without_hints);
}

/// Adds the competing node to those avoided. Returns false if it must not be avoided, or is avoided already and still
/// competes.
bool PlanBuilder::avoids(NodeIndex competitor) {
  if (!may_avoid_ || arrived_[competitor] || !may_avoid_(competitor)) return false;
  const auto known = std::ranges::find(outcome().soft_taints(), avoided_by_, &scheduling::SoftTaint::key);
  if (known == outcome().soft_taints().end() || std::ranges::binary_search(known->nodes, competitor)) return false;
  return avoid(avoided_by_, std::span(&competitor, 1));
}

// --- Record

void PlanBuilder::record(PodIndex pod, std::optional<NodeIndex> to, std::string_view reason,
                         std::optional<double> score) {
  const api::ObjectMeta& meta = cluster_.pod(pod).meta;
  plan_.moves.push_back({meta.ns, meta.name, meta.uid, name_of(cluster_.node_of(pod)), to ? name_of(*to) : "",
                         result_->strategy, std::string(reason), score, wave_, hint_for(pod, to)});
  if (to) arrived_[*to] = true;
  if (meter_ != nullptr) meter_->move(pod, cluster_.node_of(pod), to.value_or(scheduling::kNoNode));
  moved_.push_back(pod);
  ++result_->nominated;
}

std::string PlanBuilder::hint_for(PodIndex pod, std::optional<NodeIndex> to) const {
  return to && *to != cluster_.node_of(pod) && gives_hint_to(pod)
             ? std::string(to_string(api::PlacementPolicy::kPreferred))
             : std::string();
}

NominationResult PlanBuilder::refuse(PodIndex pod, const Refusal& refusal, NominationResult result,
                                     const std::function<std::string()>& details) {
  beat();
  count_refusal(refusal.reason);
  if (!shows_refusals()) return result;
  api::RefusedPod& row = plan_.refusals.emplace_back(row_of(pod, refusal.reason, words_of(pod, refusal, details)));
  if (refusal.names("{subject}")) row.subject = refusal.subject;
  if (refusal.names("{wanted}")) row.wanted = refusal.wanted;
  if (refusal.names("{available}")) row.available = refusal.available;
  return result;
}

std::string PlanBuilder::words_of(PodIndex pod, const Refusal& refusal, const std::function<std::string()>& details) {
  std::string plain = refusal.message();
  if (details_left_ == 0) return plain;
  std::string words = evictability_.explain(refusal, pod, what_if_);
  const std::string more = details ? details() : std::string();
  if (!more.empty()) words += ": " + more;
  if (words.size() > plain.size()) --details_left_;
  return words;
}

NominationResult PlanBuilder::refuse_group_member(PodIndex pod, const PodGroupWhatIf::Reason& why) {
  beat();
  count_refusal(why.reason);
  if (shows_refusals()) plan_.refusals.push_back(row_of(pod, why.reason, why.message));
  return NominationResult::kRefused;
}

void PlanBuilder::count_refusal(std::string_view reason) {
  ++refused_[reason];
  ++result_->refused;
}

api::RefusedPod PlanBuilder::row_of(PodIndex pod, std::string_view reason, std::string message) const {
  const api::ObjectMeta& meta = cluster_.pod(pod).meta;
  return {meta.ns,           meta.name,           meta.uid,          name_of(cluster_.node_of(pod)),
          result_->strategy, std::string(reason), std::move(message)};
}

std::string PlanBuilder::name_of(NodeIndex node) const {
  return node == scheduling::kNoNode ? "" : cluster_.node(node).meta.name;
}

}  // namespace planner
