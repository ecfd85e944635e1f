#pragma once

#include <string>

#include "api/evacuation.hpp"

namespace api {

/// Returns the policy that created the Evacuation. Empty for a manual Evacuation, whatever its spec.source contains.
inline const std::string& policy_of(const Evacuation& evacuation) {
  static const std::string kNone;
  return origin_is_verified(evacuation) ? evacuation.spec.source.policy : kNone;
}

/// Returns the policy in spec.source of a manual Evacuation. Displayed, never trusted.
inline const std::string& claimed_policy_of(const Evacuation& evacuation) {
  static const std::string kNone;
  return origin_is_verified(evacuation) ? kNone : evacuation.spec.source.policy;
}

}  // namespace api
