#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "api/meta/condition.hpp"
#include "api/vocabulary/term.hpp"

namespace api {

/// Types of the conditions that Evacuator sets on its own kinds.
enum class ConditionType {
  // Evacuation, in order of its lifecycle
  kOriginVerified,
  kAccepted,
  kSlotAcquired,
  kGroupReady,
  kHandoffAcknowledged,
  kReadyToEvict,
  kEvictionGranted,
  kProgressing,
  kTargetGone,
  kPlacementHinted,
  kReplacementReady,
  kPostCompleted,
  kCancelAccepted,
  kRollbackComplete,
  kComplete,
  // DeschedulerPolicy; kReady also of ResourceAdvice
  kReady,
  kConverged,
  kDegraded,
  kSuspended,
  kCircuitOpen,
  kWarnings,
  kAuditLogFailing,
  kUsageAvailable,
  kForecastTrusted,
  kSoftTaints,
};
inline constexpr ConditionType kLastConditionType = ConditionType::kSoftTaints;

std::string_view to_string(ConditionType type);
std::optional<ConditionType> parse_condition_type(std::string_view name);
std::span<const Term<ConditionType>> condition_types();

inline bool operator==(std::string_view text, ConditionType type) { return text == to_string(type); }

inline const Condition* find_condition(const std::vector<Condition>& conditions, ConditionType type) {
  return find_condition(conditions, to_string(type));
}
inline bool is_true(const std::vector<Condition>& conditions, ConditionType type) {
  return is_true(conditions, to_string(type));
}

}  // namespace api
