#pragma once

#include <string>

#include "api/evacuation.hpp"

namespace api {

/// The policy that an Evacuation really belongs to. Empty for one made by hand, whatever policy its spec.source names.
inline const std::string& policy_of(const Evacuation& evacuation) {
  static const std::string kNone;
  return origin_is_verified(evacuation) ? evacuation.spec.source.policy : kNone;
}

/// The policy that an Evacuation made by hand says it belongs to. Shown, never trusted.
inline const std::string& claimed_policy_of(const Evacuation& evacuation) {
  static const std::string kNone;
  return origin_is_verified(evacuation) ? kNone : evacuation.spec.source.policy;
}

}  // namespace api
