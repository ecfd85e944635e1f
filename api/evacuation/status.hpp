#pragma once

/// Decoder and field tables of the status of an Evacuation. Internal to api/; encode_status() and encode_change() are
/// in api/evacuation.hpp.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "api/evacuation.hpp"

namespace api {

/// Optional times in the status, with their JSON names.
struct StatusTime {
  std::string_view name;  ///< NUL-terminated
  std::optional<base::TimePoint> EvacuationStatus::*member;
};
inline constexpr std::array kStatusTimes = {
    StatusTime{"startedAt", &EvacuationStatus::started_at},
    StatusTime{"attemptStartedAt", &EvacuationStatus::attempt_started_at},
    StatusTime{"phaseEnteredAt", &EvacuationStatus::phase_entered_at},
    StatusTime{"inProgressSince", &EvacuationStatus::in_progress_since},
    StatusTime{"blockedSince", &EvacuationStatus::blocked_since},
    StatusTime{"deadline", &EvacuationStatus::deadline},
    StatusTime{"requestSentAt", &EvacuationStatus::request_sent_at},
    StatusTime{"lastHeartbeatAt", &EvacuationStatus::last_heartbeat_at},
    StatusTime{"queuedSince", &EvacuationStatus::queued_since},
    StatusTime{"expectedCompletionAt", &EvacuationStatus::expected_completion_at},
    StatusTime{"nextActionAt", &EvacuationStatus::next_action_at},
    StatusTime{"finishedAt", &EvacuationStatus::finished_at}};

/// Texts in the status; an empty one is not written.
struct StatusText {
  std::string_view name;  ///< NUL-terminated
  std::string EvacuationStatus::*member;
};
inline constexpr std::array kStatusTexts = {StatusText{"reason", &EvacuationStatus::reason},
                                            StatusText{"message", &EvacuationStatus::message},
                                            StatusText{"evictor", &EvacuationStatus::evictor},
                                            StatusText{"adapter", &EvacuationStatus::adapter},
                                            StatusText{"token", &EvacuationStatus::token},
                                            StatusText{"specHash", &EvacuationStatus::spec_hash},
                                            StatusText{"workloadGroup", &EvacuationStatus::workload_group},
                                            StatusText{"group", &EvacuationStatus::group},
                                            StatusText{"lastHeartbeatValue", &EvacuationStatus::last_heartbeat_value}};

/// Never fails: a field that cannot be read or has a wrong type counts as absent.
EvacuationStatus evacuation_status_of(const Json& json);

}  // namespace api
