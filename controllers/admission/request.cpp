#include "controllers/admission/request.hpp"

#include <algorithm>

#include "api/meta/condition.hpp"
#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "controllers/admission/cooldown.hpp"

namespace controllers {
namespace {

bool was_admitted(const api::Evacuation& evacuation) {
  const auto* slot = api::find_condition(evacuation.status.conditions, api::ConditionType::kSlotAcquired);
  return !slot || slot->status == api::ConditionStatus::kTrue;
}

/// Time of returning a slot without progress. It replaces the age, so that the Evacuation does not get the slot back
/// before those that waited for it.
std::optional<base::TimePoint> queued_again(const api::Evacuation& evacuation) {
  const api::EvacuationStatus& status = evacuation.status;
  if (goes_on_without_slot(evacuation))
    return api::find_condition(status.conditions, api::ConditionType::kSlotAcquired)->last_transition_time;
  const bool gave_back = status.phase == api::EvacuationPhase::kBackoff && status.abort &&
                         status.abort->reason == api::Reason::kNoProgress;
  return gave_back ? status.phase_entered_at : std::nullopt;
}

std::string owner_uid(const api::Evacuation& evacuation, const api::Pod* pod) {
  if (evacuation.status.pod_owner) return evacuation.status.pod_owner->uid;
  const api::OwnerReference* owner = pod ? pod->meta.controller() : nullptr;
  return owner ? owner->uid : std::string();
}

}  // namespace

std::int32_t effective_priority(const api::Evacuation& evacuation, std::int32_t most) {
  const api::EvacuationStatus& status = evacuation.status;
  const std::int32_t asked = evacuation.spec.priority;
  if (!api::origin_is_verified(evacuation)) return std::min(asked, most);
  // No status is stored yet, so the current priority itself was verified by the signature.
  const bool is_as_signed = status.spec_hash.empty() && !status.signed_priority;
  return is_as_signed ? asked : std::min(asked, std::max(most, status.signed_priority.value_or(most)));
}

std::string target_node(const api::Evacuation& evacuation) {
  const auto& outcome = evacuation.status.outcome;
  if (outcome && outcome->replacement && !outcome->replacement->node.empty()) return outcome->replacement->node.value;
  if (!evacuation.status.target_node.empty()) return evacuation.status.target_node.value;
  if (!api::origin_is_verified(evacuation)) return {};  // any client can write an annotation
  return evacuation.meta.annotations.value(api::well_known::kPredictedTargetAnnotation);
}

AdmissionRequest admission_request(const api::Evacuation& evacuation, const api::Pod* pod,
                                   std::optional<std::int32_t> workload_size) {
  AdmissionRequest request;
  request.key = evacuation.meta.key();
  request.uid = evacuation.meta.uid;
  request.pod_uid = evacuation.spec.pod_ref.uid.value;
  request.node = evacuation.spec.node_name.value;
  if (request.node.empty() && pod) request.node = pod->node_name.value;
  request.target_node = target_node(evacuation);
  request.workload = evacuation.spec.concurrency_group;
  if (request.workload.empty()) request.workload = evacuation.status.workload_group;
  request.owner = owner_uid(evacuation, pod);
  if (request.workload.empty()) request.workload = request.owner;
  request.policy = api::policy_of(evacuation);
  request.is_manual = !api::origin_is_verified(evacuation);
  request.priority = evacuation.spec.priority;
  request.created = evacuation.meta.creation_timestamp;
  request.queued_again = queued_again(evacuation);
  // An attempt that is being aborted requests no slot; the next attempt does.
  request.has_begun = goes_on_without_slot(evacuation) && evacuation.status.phase != api::EvacuationPhase::kAborting;
  request.attempt = request.has_begun ? evacuation.status.attempt : evacuation.status.attempt + 1;
  request.workload_size = workload_size;
  request.subjects = cooldown_subjects(evacuation, pod);
  if (!evacuation.status.group.empty()) request.pod_group = request.key.ns + "/" + evacuation.status.group;
  return request;
}

bool holds_slot(const api::Evacuation& evacuation) {
  const api::EvacuationPhase phase = evacuation.status.phase;
  if (is_between_attempts(phase) || api::is_terminal(phase) || !was_admitted(evacuation)) return false;
  return phase != api::EvacuationPhase::kVerifying ||
         evacuation.spec.hold_slot_until == api::HoldSlotUntil::kReplacementReady;
}

bool goes_on_without_slot(const api::Evacuation& evacuation) {
  const auto* slot = api::find_condition(evacuation.status.conditions, api::ConditionType::kSlotAcquired);
  const api::EvacuationPhase phase = evacuation.status.phase;
  return slot && slot->status == api::ConditionStatus::kFalse && slot->reason == api::Reason::kNoProgress &&
         !is_between_attempts(phase) && !api::is_terminal(phase);
}

bool holds_workload_slot(const api::Evacuation& evacuation) {
  return holds_arrival_slot(evacuation) || goes_on_without_slot(evacuation);
}

bool holds_arrival_slot(const api::Evacuation& evacuation) {
  return holds_slot(evacuation) ||
         (evacuation.status.phase == api::EvacuationPhase::kVerifying && was_admitted(evacuation));
}

}  // namespace controllers
