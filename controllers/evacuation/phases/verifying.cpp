#include <fmt/format.h>

#include <algorithm>

#include "api/meta/well_known.hpp"
#include "controllers/evacuation/phases/status_builder.hpp"
#include "evictors/eviction_call.hpp"

/// Verifying: the pod is gone, and its replacement is awaited.
namespace controllers::evacuation {
namespace {

/// Tolerance for creation times in whole seconds and slightly different clocks.
constexpr base::seconds kCreationSlack{2};

/// Earliest creation time of a replacement, which is created at or after the pod's deletion. Creation times use the API
/// server's clock, which may be behind ours by any amount, so the earlier of both times counts.
base::TimePoint replacement_since(const StatusBuilder& builder) {
  const auto& status = builder.status();
  const bool our_call = status.intent && status.intent->action == evictors::kPostEviction;
  const base::TimePoint start = our_call ? status.intent->time : status.attempt_started_at.value_or(builder.now());
  const base::TimePoint since = start - kCreationSlack;
  return std::min(since, base::parse_time(builder.context().ref(kDeletedAtRef)).value_or(since));
}

bool may_replace(const StatusBuilder& builder, const Sibling& sibling, base::TimePoint since) {
  const api::Pod& pod = *sibling.pod;
  return !sibling.claimed && pod.meta.uid != builder.spec().pod_ref.uid.value && pod.meta.creation_timestamp >= since &&
         !pod.meta.is_terminating() && !pod.is_terminal();
}

/// Whether the pod is Ready and its operator considers it in service.
bool is_serving(const StatusBuilder& builder, const api::Pod& pod) {
  const evictors::Evictor* evictor = builder.evictor();
  return pod.is_ready() && (!evictor || evictor->is_in_service(builder.context(), pod));
}

/// Whether the pod was given the node of spec.placement, i.e. was created for this Evacuation.
bool is_hinted(const StatusBuilder& builder, const api::Pod& pod) {
  const std::string* mark = pod.meta.annotations.find(api::well_known::kPlacementAnnotation);
  return mark != nullptr && builder.spec().placement && *mark == api::placement_mark(builder.evacuation());
}

/// Whether the scheduler placed the pod on the node of spec.placement, as hinted by an extender. REQUIRES:
/// may_replace().
bool is_where_hinted(const StatusBuilder& builder, const api::Pod& pod) {
  return builder.seen().rules.extender_serves_hints && builder.spec().placement &&
         pod.node_name == builder.spec().placement->node_name;
}

/// Prefers hinted pods, then serving ones, then the known replacement, then by age and name.
const api::Pod* find_replacement(const StatusBuilder& builder) {
  const base::TimePoint since = replacement_since(builder);
  const auto& known = builder.status().outcome->replacement;
  const api::Pod* best = nullptr;
  const auto rank = [&](const api::Pod& pod) {
    const bool has_hint = is_hinted(builder, pod) || is_where_hinted(builder, pod);
    const bool chosen_before = known && known->uid == pod.meta.uid;
    return std::tuple(!has_hint, !is_serving(builder, pod), !chosen_before, pod.meta.creation_timestamp, pod.meta.name);
  };
  for (const Sibling& sibling : builder.seen().siblings) {
    if (!may_replace(builder, sibling, since)) continue;
    if (!best || rank(*sibling.pod) < rank(*best)) best = sibling.pod.get();
  }
  return best;
}

/// Whether at least `wanted` pods are Ready without the leaving one.
bool has_ready(const StatusBuilder& builder, std::int32_t wanted) {
  std::int32_t ready = 0;
  for (const Sibling& each : builder.seen().siblings) {
    if (ready >= wanted) break;
    const api::Pod& pod = *each.pod;
    const bool leaving = pod.meta.uid == builder.spec().pod_ref.uid.value;  // a stale cache still shows it
    if (!leaving && pod.is_ready() && !pod.meta.is_terminating() && !pod.is_terminal()) ++ready;
  }
  return ready >= wanted;
}

/// Why no replacement will come; empty if one is expected.
std::string not_expected(const StatusBuilder& builder) {
  const auto& owner = builder.status().pod_owner;
  if (builder.status().adapter == kTerminalPod) return "the pod was terminal before";
  if (!owner) return "the pod has no controller";
  if (owner->kind == "Job") return "the Job controller creates its own replacements";
  if (!builder.seen().desired_replicas) return {};
  if (!has_ready(builder, *builder.seen().desired_replicas)) return {};
  return fmt::format("{} {} has its {} replicas", owner->kind, owner->name, *builder.seen().desired_replicas);
}

void record_replacement(StatusBuilder& builder, const api::Pod& pod) {
  const auto& before = builder.status().outcome->replacement;
  const bool known = before && before->uid == pod.meta.uid;
  api::EvacuationReplacement next{pod.meta.name, pod.meta.uid, pod.node_name, known ? before->ready_at : std::nullopt};
  if (is_serving(builder, pod) && !next.ready_at) next.ready_at = builder.now();
  builder.set_replacement(std::move(next));
}

bool post_done(const StatusBuilder& builder) {
  const auto* post = api::find_condition(builder.status().conditions, ConditionType::kPostCompleted);
  return !post || post->status == ConditionStatus::kTrue;
}

Step succeed(StatusBuilder& builder, std::string message) {
  if (builder.status().progress) builder.set_progress(100);
  return builder.finish(EvacuationPhase::kSucceeded, reason_of(builder.status().outcome->kind), std::move(message));
}

constexpr const char* kEmptiedToo = ", which is to be emptied as well";

/// Whether the plan empties `node` as well, so that the move gains nothing.
bool lands_on_emptied(const StatusBuilder& builder, const std::string& node) {
  return builder.seen().emptied_nodes.contains(node);
}

void show_candidate(StatusBuilder& builder, const api::Pod& pod) {
  if (!pod.node_name.empty()) record_replacement(builder, pod);  // not recorded before it has a node
  if (!is_serving(builder, pod)) {
    builder.set_false_condition(
        ConditionType::kReplacementReady, Reason::kWaiting,
        pod.is_ready() ? pod.meta.name + " is Ready, and has no role in its cluster yet" : pod.meta.name);
    return;
  }
  const bool moved = pod.node_name != builder.spec().node_name || builder.spec().node_name.empty();
  const bool is_emptied = moved && lands_on_emptied(builder, pod.node_name.value);
  builder.set_condition(
      ConditionType::kReplacementReady, moved && !is_emptied ? ConditionStatus::kTrue : ConditionStatus::kFalse,
      moved && !is_emptied ? Reason::kReady : Reason::kSameNode,
      fmt::format("{} on node {}{}", pod.meta.name, pod.node_name.value, is_emptied ? kEmptiedToo : ""));
}

/// Finds the replacement by the pod's owner.
void show_replacement(StatusBuilder& builder) {
  if (const api::Pod* pod = find_replacement(builder)) return show_candidate(builder, *pod);
  const std::string why = not_expected(builder);
  if (why.empty()) {
    builder.set_false_condition(ConditionType::kReplacementReady, Reason::kWaiting);
  } else {
    builder.set_true_condition(ConditionType::kReplacementReady, Reason::kNotExpected, why);
  }
}

/// The evictor reports that the work runs again.
void show_arrived(StatusBuilder& builder, const std::string& message) {
  const auto& outcome = *builder.status().outcome;
  const bool migrated = outcome.kind == OutcomeKind::kMigrated;
  const auto& node = builder.spec().node_name;
  const bool back = !migrated && outcome.replacement && !node.empty() && outcome.replacement->node == node;
  const bool is_emptied = outcome.replacement && lands_on_emptied(builder, outcome.replacement->node.value);
  if (back || is_emptied) {
    builder.set_false_condition(ConditionType::kReplacementReady, Reason::kSameNode,
                                message + (is_emptied && !back ? kEmptiedToo : ""));
    return;
  }
  builder.set_true_condition(ConditionType::kReplacementReady, migrated ? Reason::kMigrated : Reason::kReady, message);
}

/// Whether the replacement is Ready, is on the same node, or is not expected.
bool settled(const StatusBuilder& builder) {
  return builder.is_true(ConditionType::kReplacementReady) ||
         builder.condition_has_reason(ConditionType::kReplacementReady, Reason::kSameNode);
}

std::string success_message(const StatusBuilder& builder) {
  const auto& outcome = *builder.status().outcome;
  const auto& replacement = outcome.replacement;
  if (builder.status().adapter == kTerminalPod) return "the terminal pod was removed";
  if (!replacement && outcome.kind == OutcomeKind::kMigrated) return "migrated; the source pod has ended";
  const auto* ready = api::find_condition(builder.status().conditions, ConditionType::kReplacementReady);
  const bool is_expected = ready && ready->reason != Reason::kNotExpected && !ready->message.empty();
  if (!replacement && is_expected) return "the pod left; " + ready->message;
  if (!replacement) return "the pod left; no replacement is expected";
  if (outcome.kind == OutcomeKind::kMigrated) return fmt::format("migrated to node {}", replacement->node.value);
  return fmt::format("replaced by {} on node {}", replacement->name, replacement->node.value);
}

Step no_replacement_in_time(StatusBuilder& builder) {
  builder.set_false_condition(ConditionType::kReplacementReady, Reason::kReplacementTimeout);
  builder.record_warning(EventReason::kTimedOut, "no replacement became ready in time");
  const std::string message =
      fmt::format("no replacement was ready within {}", base::format_duration(builder.timeouts().verify));
  if (builder.spec().require_replacement)
    return builder.finish(EvacuationPhase::kFailed, Reason::kReplacementTimeout, message);
  return succeed(builder, "the pod left; " + message);
}

// --- rules

/// Uses the evictor's result, or else finds the replacement by the pod's owner. Never returns a step.
std::optional<Step> follow_arrival(StatusBuilder& builder) {
  using State = evictors::Verification::State;
  builder.set_outcome_if_none(OutcomeKind::kEvicted);
  builder.set_deadline_if_none(builder.now() + builder.timeouts().verify);
  const evictors::Verification& arrival = builder.arrival();
  if (arrival.kind) builder.set_outcome_kind(*arrival.kind);
  if (arrival.replacement) builder.set_replacement(*arrival.replacement);
  builder.remember(arrival.refs);
  switch (arrival.state) {
    case State::kByOwner: show_replacement(builder); break;
    case State::kArrived: show_arrived(builder, arrival.message); break;
    case State::kPending:
      builder.set_false_condition(ConditionType::kReplacementReady, Reason::kWaiting, arrival.message);
      break;
    case State::kNotExpected:
      builder.set_true_condition(ConditionType::kReplacementReady, Reason::kNotExpected, arrival.message);
      break;
  }
  return std::nullopt;
}

std::optional<Step> fail_with_evictor(StatusBuilder& builder) {
  const auto& failed = builder.arrival().failed;
  if (!failed) return std::nullopt;
  return builder.finish(EvacuationPhase::kFailed, failed->complete_reason,
                        fmt::format("the pod left, but {}: {}", failed->reason, failed->message));
}

/// Remaining actions: the post hook, removal of a surplus replica.
std::optional<Step> act_after_leaving(StatusBuilder& builder) {
  const evictors::Verification& arrival = builder.arrival();
  const base::TimePoint patience =
      builder.status().phase_entered_at.value_or(builder.now()) + builder.timeouts().verify;
  builder.set_deadline(std::max(*builder.status().deadline, patience + arrival.extra));
  if (!arrival.action || builder.deadline_expired()) return std::nullopt;
  builder.wake_at_deadline(*builder.status().deadline);
  return next_call_is_early(builder) ? builder.wait() : builder.act(*arrival.action);
}

/// T33: the replacement is Ready or not expected, and the post phase is done. T33a: the workload was deleted.
std::optional<Step> succeed_when_settled(StatusBuilder& builder) {
  if (!settled(builder) || !post_done(builder) || builder.arrival().unfinished) return std::nullopt;
  if (builder.status().outcome->kind == OutcomeKind::kTargetGone)
    return builder.finish(EvacuationPhase::kCancelled, Reason::kTargetGone, builder.arrival().message);
  const std::string message = success_message(builder);
  if (builder.status().outcome->replacement) builder.record_event(EventReason::kReplacementReady, message);
  return succeed(builder, message);
}

/// T34: a missing report of `post` alone does not fail the Evacuation.
std::optional<Step> end_at_verify_deadline(StatusBuilder& builder) {
  if (builder.deadline_expired()) {
    if (!settled(builder)) return no_replacement_in_time(builder);
    return succeed(builder, success_message(builder) + "; the post phase was not confirmed in time");
  }
  builder.wake_at_deadline(*builder.status().deadline);
  return std::nullopt;
}

/// Records the new pod that took spec.placement. Never returns a step.
std::optional<Step> note_placement(StatusBuilder& builder) {
  if (!builder.spec().placement || builder.status().placement) return std::nullopt;
  const auto& siblings = builder.seen().siblings;
  auto taken = std::ranges::find_if(siblings, [&](const Sibling& each) { return is_hinted(builder, *each.pod); });
  if (taken == siblings.end())
    taken = std::ranges::find_if(siblings, [&](const Sibling& each) {
      return may_replace(builder, each, replacement_since(builder)) && is_where_hinted(builder, *each.pod);
    });
  if (taken == siblings.end()) return std::nullopt;
  const api::ObjectMeta& pod = taken->pod->meta;
  builder.set_placement({pod.name, pod.uid});
  builder.set_true_condition(
      ConditionType::kPlacementHinted, Reason::kHintTaken,
      fmt::format("pod {} was assigned to node {}, {}", pod.name, builder.spec().placement->node_name.value,
                  to_string(builder.spec().placement->policy)));
  return std::nullopt;
}

constexpr std::array<Rule, 7> kVerifyingRules = {
    refuse_late_cancel,  // T29
    note_placement,         follow_arrival, fail_with_evictor, act_after_leaving,
    succeed_when_settled,    // T33
    end_at_verify_deadline,  // T34
};

}  // namespace

Step decide_verifying(StatusBuilder& builder) { return first_answer(kVerifyingRules, builder); }

Step enter_verifying(StatusBuilder& builder, api::OutcomeKind kind) {
  builder.set_outcome_if_none(kind);
  builder.resolve_intent(IntentResult::kObserved);
  refuse_late_cancel(builder);
  builder.set_true_condition(ConditionType::kTargetGone, builder.how_it_left());
  builder.set_true_condition(ConditionType::kProgressing, Reason::kAwaitingReplacement);
  builder.clear_blocked();
  builder.enter(EvacuationPhase::kVerifying, reason_of(builder.status().outcome->kind), "the pod has left its node");
  builder.set_deadline(builder.now() + builder.timeouts().verify);
  return Step::kAgain;
}

}  // namespace controllers::evacuation
