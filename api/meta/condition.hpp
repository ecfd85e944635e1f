#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace api {

enum class ConditionStatus { kTrue, kFalse, kUnknown };

/// "True", "False" or "Unknown".
std::string_view to_string(ConditionStatus status);

/// metav1.Condition: `type` and `reason` are CamelCase, `message` is for people.
struct Condition {
  std::string type;
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string reason;
  std::string message;
  std::int64_t observed_generation = 0;
  base::TimePoint last_transition_time{};

  friend bool operator==(const Condition&, const Condition&) = default;
};

/// Inserts or replaces the condition of the same type. last_transition_time moves only when `status`
/// flips. Returns true if there is anything to write.
bool set_condition(std::vector<Condition>& conditions, Condition next, base::TimePoint now);

/// The condition of that type, or nullptr.
const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type);

/// True only if the condition exists with status True.
bool is_true(const std::vector<Condition>& conditions, std::string_view type);

}  // namespace api
