#pragma once

/// Tables of fields of the status of an Evacuation, for both of its decoders and the encoder. Internal to api/;
/// encode_status() and encode_change() are in api/evacuation.hpp.

#include <tuple>

#include "api/evacuation.hpp"
#include "api/json/fields.hpp"

namespace api {

template <>
inline constexpr auto kFields<EvacuationIntent> =
    std::tuple{always("action", &EvacuationIntent::action), always("token", &EvacuationIntent::token),
               always("time", &EvacuationIntent::time),     always("resolved", &EvacuationIntent::resolved),
               field("result", &EvacuationIntent::result),  field("preState", &EvacuationIntent::pre_state)};

template <>
inline constexpr auto kFields<EvacuationAbort> =
    std::tuple{always("reason", &EvacuationAbort::reason), always("next", &EvacuationAbort::next),
               always("startedAt", &EvacuationAbort::started_at)};

template <>
inline constexpr auto kFields<EvacuationReplacement> =
    std::tuple{always("name", &EvacuationReplacement::name), always("uid", &EvacuationReplacement::uid),
               field("node", &EvacuationReplacement::node), field("readyAt", &EvacuationReplacement::ready_at)};

template <>
inline constexpr auto kFields<EvacuationOutcome> = std::tuple{
    always("kind", &EvacuationOutcome::kind), field("podDeletionTimestamp", &EvacuationOutcome::pod_deletion_timestamp),
    field("replacement", &EvacuationOutcome::replacement)};

template <>
inline constexpr auto kFields<PlacedPod> =
    std::tuple{always("podName", &PlacedPod::name), always("podUID", &PlacedPod::uid)};

template <>
inline constexpr auto kFields<LastResponse> =
    std::tuple{always("code", &LastResponse::code), always("class", &LastResponse::response_class),
               field("message", &LastResponse::message), always("time", &LastResponse::time)};

template <>
inline constexpr auto kFields<Blocker> = std::tuple{always("kind", &Blocker::kind),
                                                    field("name", &Blocker::name),
                                                    field("message", &Blocker::message),
                                                    field("disruptionsAllowed", &Blocker::disruptions_allowed),
                                                    field("currentHealthy", &Blocker::current_healthy),
                                                    field("desiredHealthy", &Blocker::desired_healthy),
                                                    always("since", &Blocker::since)};

template <>
inline constexpr auto kFields<HistoryEntry> =
    std::tuple{always("time", &HistoryEntry::time),      field("from", &HistoryEntry::from),
               always("to", &HistoryEntry::to),          field("reason", &HistoryEntry::reason),
               field("message", &HistoryEntry::message), field("attempt", &HistoryEntry::attempt),
               field("actor", &HistoryEntry::actor)};

template <>
inline constexpr auto kFields<EvacuationStatus> =
    std::tuple{always("phase", &EvacuationStatus::phase),
               field("reason", &EvacuationStatus::reason),
               field("message", &EvacuationStatus::message),
               always("observedGeneration", &EvacuationStatus::observed_generation),
               field("evictor", &EvacuationStatus::evictor),
               field("adapter", &EvacuationStatus::adapter),
               always("evictorIndex", &EvacuationStatus::evictor_index),
               always("attempt", &EvacuationStatus::attempt),
               field("token", &EvacuationStatus::token),
               field("specHash", &EvacuationStatus::spec_hash),
               field("signedPriority", &EvacuationStatus::signed_priority),
               field("workloadGroup", &EvacuationStatus::workload_group),
               field("group", &EvacuationStatus::group),
               field("podOwner", &EvacuationStatus::pod_owner),
               field("startedAt", &EvacuationStatus::started_at),
               field("attemptStartedAt", &EvacuationStatus::attempt_started_at),
               field("phaseEnteredAt", &EvacuationStatus::phase_entered_at),
               field("inProgressSince", &EvacuationStatus::in_progress_since),
               field("blockedSince", &EvacuationStatus::blocked_since),
               field("deadline", &EvacuationStatus::deadline),
               field("requestSentAt", &EvacuationStatus::request_sent_at),
               field("lastHeartbeatAt", &EvacuationStatus::last_heartbeat_at),
               field("queuedSince", &EvacuationStatus::queued_since),
               field("lastHeartbeatValue", &EvacuationStatus::last_heartbeat_value),
               field("progress", &EvacuationStatus::progress),
               field("expectedCompletionAt", &EvacuationStatus::expected_completion_at),
               field("nextActionAt", &EvacuationStatus::next_action_at),
               field("blockedCount", &EvacuationStatus::blocked_count),
               field("grantedWithoutDelete", &EvacuationStatus::granted_without_delete),
               field("remoteFailures", &EvacuationStatus::remote_failures),
               field("targetNode", &EvacuationStatus::target_node),
               field("refs", &EvacuationStatus::refs),
               field("intent", &EvacuationStatus::intent),
               field("abort", &EvacuationStatus::abort),
               field("outcome", &EvacuationStatus::outcome),
               field("placement", &EvacuationStatus::placement),
               field("lastResponse", &EvacuationStatus::last_response),
               field("blockedBy", &EvacuationStatus::blocked_by),
               field("conditions", &EvacuationStatus::conditions),
               field("history", &EvacuationStatus::history),
               field("finishedAt", &EvacuationStatus::finished_at)};

/// Never fails: a field that cannot be read or has a wrong type counts as absent.
EvacuationStatus evacuation_status_of(const Json& json);

}  // namespace api
