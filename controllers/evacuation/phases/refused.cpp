#include "controllers/evacuation/phases/status_builder.hpp"

/// What neither a retry nor another evictor would change: the pod's end would cost its data, or a service may not be
/// called for its namespace (state-machine.md#data-safety, #services).
namespace controllers::evacuation {
namespace {

using api::ConditionStatus;
using api::EvacuationPhase;

struct Refused {
  Reason reason;
  const std::string& message;
};

std::optional<Refused> refused(const Observed& seen) {
  if (!seen.claim_risk.empty()) return Refused{Reason::kNotEvictable, seen.claim_risk};
  if (!seen.not_allowed.empty()) return Refused{Reason::kNotAllowed, seen.not_allowed};
  return std::nullopt;
}

}  // namespace

std::optional<Step> refuse_request(StatusBuilder& builder) {
  const auto found = refused(builder.seen());
  if (!found) return std::nullopt;
  builder.set_condition(ConditionType::kAccepted, ConditionStatus::kFalse, found->reason, found->message);
  return builder.finish(EvacuationPhase::kFailed, found->reason, found->message);
}

std::optional<Step> end_refused_attempt(StatusBuilder& builder) {
  const auto found = refused(builder.seen());
  if (!found) return std::nullopt;
  if (outcome_open(builder)) return wait_for_outcome(builder);
  builder.resolve_intent(IntentResult::kNoEffect);
  builder.set_condition(ConditionType::kEvictionGranted, ConditionStatus::kFalse, found->reason, found->message);
  return leave_attempt(builder, EvacuationPhase::kFailed, found->reason, found->message);
}

}  // namespace controllers::evacuation
