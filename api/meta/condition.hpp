#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace api {

enum class ConditionStatus { kTrue, kFalse, kUnknown };

std::string_view to_string(ConditionStatus status);

/// metav1.Condition. `type` and `reason` are CamelCase, `message` is human-readable.
struct Condition {
  std::string type;
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string reason;
  std::string message;
  std::int64_t observed_generation = 0;
  base::TimePoint last_transition_time{};

  friend bool operator==(const Condition&, const Condition&) = default;
};

/// Inserts the condition or replaces the one of the same type. last_transition_time changes only if `status` changes.
/// Returns true if anything changed and must be written.
bool set_condition(std::vector<Condition>& conditions, Condition next, base::TimePoint now);

/// Returns the condition of this type, or nullptr.
const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type);

/// Returns true only if the condition exists with status True.
bool is_true(const std::vector<Condition>& conditions, std::string_view type);

}  // namespace api
