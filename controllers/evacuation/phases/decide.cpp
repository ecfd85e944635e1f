#include "controllers/evacuation/phases/decide.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/origin.hpp"
#include "controllers/evacuation/phases/status_builder.hpp"
#include "evictors/eviction_call.hpp"

/// Implements decide.hpp: dispatch to the phases, and the rules that precede every phase (T0).
namespace controllers::evacuation {
namespace {

using evictors::ResponseClass;

/// Maximum number of transitions per call, which breaks loops. The rest follows in the next call.
constexpr int kMaxStepsAtOnce = 16;

/// Whether no request was ever sent, so that a departure of the pod is not our effect.
bool untouched(const StatusBuilder& builder) {
  return builder.spec().dry_run || (is_before_request(builder.phase()) && !builder.status().request_sent_at);
}

bool our_eviction_took_effect(const StatusBuilder& builder) {
  const auto& intent = builder.status().intent;
  if (builder.is_true(ConditionType::kEvictionGranted)) return true;
  if (!intent || intent->token != builder.status().token || intent->action != evictors::kPostEviction) return false;
  // Unresolved: the answer was lost, and the pod is leaving, so the eviction took effect.
  return !intent->resolved || intent->result == to_string(ResponseClass::kGranted);
}

/// Determines who made the pod leave, from the evidence.
OutcomeKind kind_of_departure(const StatusBuilder& builder) {
  if (our_eviction_took_effect(builder)) return OutcomeKind::kEvicted;
  const auto& intent = builder.status().intent;
  const bool accepted = intent && intent->result == to_string(ResponseClass::kAcceptedInBackground);
  const bool handed_over = builder.is_true(ConditionType::kHandoffAcknowledged);
  return accepted || handed_over ? OutcomeKind::kMovedByOwner : OutcomeKind::kGoneExternally;
}

std::string left_before(const StatusBuilder& builder, Reason how) {
  const std::string& name = builder.spec().pod_ref.name;
  if (!builder.pod() || !builder.pod()->is_terminal())
    return fmt::format("pod {} left before the operator requested anything ({})", name, to_string(how));
  return fmt::format("pod {} has terminated ({}): none of its containers run", name,
                     api::to_string(builder.pod()->phase));
}

// --- T0: state of the pod itself

/// T0a: the pod is leaving or has left without a request.
std::optional<Step> end_without_target(StatusBuilder& builder) {
  if (!untouched(builder) || builder.cancelled()) return std::nullopt;
  if (!builder.pod_left() && !builder.pod_terminating()) return std::nullopt;
  const Reason how = builder.pod_left() ? builder.how_it_left() : Reason::kPodTerminating;
  builder.set_true_condition(ConditionType::kTargetGone, how);
  if (builder.phase() == EvacuationPhase::kPending) {
    builder.set_false_condition(ConditionType::kAccepted,
                                how == Reason::kUIDChanged ? Reason::kUIDMismatch : Reason::kPodNotFound);
  }
  builder.set_outcome(OutcomeKind::kTargetGone);
  return builder.finish(EvacuationPhase::kCancelled, Reason::kTargetGone, left_before(builder, how));
}

/// T0b, T30: the pod has left.
std::optional<Step> verify_once_left(StatusBuilder& builder) {
  if (untouched(builder) || !builder.pod_left()) return std::nullopt;
  const OutcomeKind kind = kind_of_departure(builder);
  if (kind == OutcomeKind::kEvicted)  // also if the answer that granted it was lost
    builder.set_true_condition(ConditionType::kEvictionGranted, Reason::kGranted);
  return enter_verifying(builder, kind);
}

/// T0c, T28: the pod is terminating.
std::optional<Step> follow_termination(StatusBuilder& builder) {
  if (untouched(builder) || builder.phase() == EvacuationPhase::kEvicting || !builder.pod_terminating())
    return std::nullopt;
  const OutcomeKind kind = kind_of_departure(builder);
  builder.resolve_intent(IntentResult::kObserved);
  refuse_late_cancel(builder);
  return enter_evicting(builder, kind, reason_of(kind), "the pod is terminating");
}

constexpr std::array<Rule, 3> kDeparture = {end_without_target, verify_once_left, follow_termination};

/// Returns nullopt if the pod exists and stays.
std::optional<Step> decide_departure(StatusBuilder& builder) {
  if (builder.spec().pod_ref.uid.empty()) return std::nullopt;  // not yet looked up; decide_pending() does that
  if (builder.phase() == EvacuationPhase::kVerifying) return std::nullopt;
  for (const Rule rule : kDeparture) {
    if (const auto step = rule(builder)) return step;
  }
  return std::nullopt;
}

Step decide_phase(StatusBuilder& builder) {
  switch (builder.phase()) {
    case EvacuationPhase::kPending: return decide_pending(builder);
    case EvacuationPhase::kPreparing: return decide_preparing(builder);
    case EvacuationPhase::kRequesting: return decide_requesting(builder);
    case EvacuationPhase::kInProgress: return decide_in_progress(builder);
    case EvacuationPhase::kEvicting: return decide_evicting(builder);
    case EvacuationPhase::kVerifying: return decide_verifying(builder);
    case EvacuationPhase::kAborting: return decide_aborting(builder);
    case EvacuationPhase::kBackoff: return decide_backoff(builder);
    case EvacuationPhase::kSucceeded:
    case EvacuationPhase::kFailed:
    case EvacuationPhase::kCancelled: return decide_finished(builder);
  }
  return Step::kSettled;
}

/// Stores origin, priority and hash of the spec with the first status. A later write could fail to verify the origin,
/// because keys are rotated.
void adopt(StatusBuilder& builder) {
  if (builder.phase() != EvacuationPhase::kPending) return;
  const std::string& hash = builder.seen().spec_hash;
  const bool is_new = builder.status().spec_hash.empty() && !builder.status().signed_priority;
  if (is_new && api::origin_is_verified(builder.evacuation())) builder.set_signed_priority(builder.spec().priority);
  if (!hash.empty() && !builder.seen().spec_changed) builder.set_spec_hash(hash);
  if (api::find_condition(builder.status().conditions, ConditionType::kOriginVerified)) return;
  builder.set_false_condition(ConditionType::kOriginVerified, Reason::kNotSigned, builder.seen().origin);
}

Step step(StatusBuilder& builder) {
  builder.begin_step();
  adopt(builder);
  if (!api::is_terminal(builder.phase())) {
    if (const auto departed = decide_departure(builder)) return *departed;
  }
  return decide_phase(builder);
}

// --- reads

/// Documents that `evictor` wants and that have not been read yet.
std::vector<evictors::Read> new_reads(const StatusBuilder& builder, const evictors::Evictor& evictor) {
  auto reads = evictor.reads(builder.context_for(evictor.name()));
  const auto known = builder.seen().documents.find(evictor.name());
  if (known == builder.seen().documents.end()) return reads;
  std::erase_if(reads, [&](const evictors::Read& each) {
    return std::ranges::find(known->second, each.name, &evictors::Document::name) != known->second.end();
  });
  return reads;
}

/// The chosen evictor. Before the choice, and while the next one may have to take over, also all others of the chain.
std::vector<const evictors::Evictor*> evictors_that_matter(const StatusBuilder& builder, bool waits) {
  std::vector<const evictors::Evictor*> all;
  const evictors::Evictor* chosen = waits ? nullptr : builder.evictor();
  if (chosen) all.push_back(chosen);
  const bool may_switch = builder.phase() == EvacuationPhase::kPreparing ||
                          builder.phase() == EvacuationPhase::kRequesting ||
                          builder.phase() == EvacuationPhase::kInProgress;
  if ((chosen && !may_switch) || !builder.pod()) return all;
  for (const auto& choice : builder.chain()) {
    const evictors::Evictor* evictor = builder.registry().find(choice.name);
    if (evictor && evictor != chosen) all.push_back(evictor);
  }
  return all;
}

}  // namespace

Reason reason_of(OutcomeKind kind) { return api::parse_reason(to_string(kind)).value_or(Reason::kGoneExternally); }

std::optional<Step> refuse_late_cancel(StatusBuilder& builder) {
  if (!builder.cancelled() || builder.condition_has_reason(ConditionType::kCancelAccepted, Reason::kPointOfNoReturn))
    return std::nullopt;
  builder.set_false_condition(ConditionType::kCancelAccepted, Reason::kPointOfNoReturn, "the pod is already leaving");
  builder.record_warning(EventReason::kCancelRefused, "the pod is already leaving; the cancellation came too late");
  return std::nullopt;
}

std::map<std::string, std::vector<evictors::Read>> wanted_reads(const Observed& seen,
                                                                const evictors::EvictorRegistry& registry,
                                                                base::TimePoint now) {
  const StatusBuilder builder(seen, registry, now);
  std::map<std::string, std::vector<evictors::Read>> wanted;
  const EvacuationPhase phase = builder.phase();
  const bool ended = api::is_terminal(phase) && !builder.has_finalizer();
  const bool waits = is_between_attempts(phase);
  if (ended || (waits && (seen.slot.state != Slot::State::kGranted || !builder.pod()))) return wanted;
  for (const evictors::Evictor* evictor : evictors_that_matter(builder, waits)) {
    auto reads = new_reads(builder, *evictor);
    if (!reads.empty()) wanted.emplace(evictor->name(), std::move(reads));
  }
  return wanted;
}

Decision decide(const Observed& seen, const evictors::EvictorRegistry& registry, base::TimePoint now) {
  StatusBuilder builder(seen, registry, now);
  for (int i = 0; i < kMaxStepsAtOnce; ++i) {
    if (step(builder) == Step::kSettled) return std::move(builder).finish_decision();
  }
  builder.wake_at(now);
  return std::move(builder).finish_decision();
}

Decision decide_answer(const Observed& seen, const evictors::EvictorRegistry& registry, const evictors::Action& action,
                       const evictors::CallResult& answer, base::TimePoint now) {
  StatusBuilder builder(seen, registry, now);
  const evictors::Evictor* evictor = builder.evictor();
  if (!evictor) return std::move(builder).finish_decision();
  evictors::Classification verdict = evictor->classify(builder.context(), action, answer);
  const bool may_pass = seen.refusal_may_pass && verdict.answer == evictors::ResponseClass::kForbidden;
  if (may_pass) verdict.answer = evictors::ResponseClass::kRetryLater;
  take_answer(builder, action, answer, verdict);
  builder.wake_at(now);
  return std::move(builder).finish_decision();
}

}  // namespace controllers::evacuation
