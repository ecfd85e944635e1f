#pragma once

#include "api/evacuation.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"

namespace builders {

/// Of an Evacuation that the operator made, as its status says once that is proved.
inline api::Condition origin_verified() {
  return {std::string(to_string(api::ConditionType::kOriginVerified)),
          api::ConditionStatus::kTrue,
          std::string(to_string(api::Reason::kSigned)),
          "",
          0,
          {}};
}

/// The operator made it for that policy; without a name a person made it.
inline void set_policy(api::Evacuation& evacuation, const std::string& policy) {
  evacuation.spec.source.policy = policy;
  if (!policy.empty()) evacuation.status.conditions.push_back(origin_verified());
}

}  // namespace builders
