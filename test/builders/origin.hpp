#pragma once

#include "api/evacuation.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"

namespace builders {

/// Condition of an Evacuation whose signature proves that the operator created it.
inline api::Condition origin_verified() {
  return {std::string(to_string(api::ConditionType::kOriginVerified)),
          api::ConditionStatus::kTrue,
          std::string(to_string(api::Reason::kSigned)),
          "",
          0,
          {}};
}

/// Marks the Evacuation as created by the operator for that policy. An empty name makes it a manual Evacuation.
inline void set_policy(api::Evacuation& evacuation, const std::string& policy) {
  evacuation.spec.source.policy = policy;
  if (!policy.empty()) evacuation.status.conditions.push_back(origin_verified());
}

}  // namespace builders
