#pragma once

/// Detects whether new pods get the hints of a policy's Evacuations at all. No I/O.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "controllers/policy/decide.hpp"

namespace controllers::placement {

/// Time after an unused hint for which a policy plans without hints.
inline constexpr base::minutes kHintPause{60};
/// Number of consecutive unused hints that proves that hints are not used.
inline constexpr int kUnusedHints = 5;

/// Returns the end of the newest hint if hints are not used: new pods were created for the newest kUnusedHints, or for
/// all of `last_plan`, and had no hint. This happens if the API server or scheduler does not call the component that
/// serves hints. Returns nullopt if hints are used or too little is known. `evacuations` are those of the policy.
std::optional<base::TimePoint> newest_unused_hint(const Evacuations& evacuations,
                                                  const std::vector<api::PlannedMove>& last_plan);

/// Policies (by UID) that plan without hints for a while, also when the Evacuations are gone. Not thread-safe.
class HintBackoff {
 public:
  /// Updates the policy by newest_unused_hint() at `now`.
  void look(const std::string& policy, const Evacuations& evacuations, const std::vector<api::PlannedMove>& last_plan,
            base::TimePoint now);
  /// Human-readable reason why the policy plans without hints, "" if it plans with hints.
  std::string why(const std::string& policy, base::TimePoint now) const;
  void forget(const std::string& policy) { until_.erase(policy); }

 private:
  std::map<std::string, base::TimePoint> until_;
};

}  // namespace controllers::placement
