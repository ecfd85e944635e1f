#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"

namespace controllers {

/// Returns a condition with status True if `holds`, otherwise False.
inline api::Condition condition(api::ConditionType type, bool holds, api::Reason reason, std::string message,
                                std::int64_t generation) {
  const auto status = holds ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse;
  return {std::string(to_string(type)), status, std::string(to_string(reason)), std::move(message), generation, {}};
}

}  // namespace controllers
