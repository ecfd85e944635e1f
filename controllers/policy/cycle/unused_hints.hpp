#pragma once

/// Whether new pods are given the hints of a policy's Evacuations at all. Does no I/O.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"

namespace controllers::placement {

/// For so long after a hint that nobody took a policy plans without hints.
inline constexpr base::minutes kHintsRest{60};
/// So many hints in a row that nobody took are enough.
inline constexpr int kUnusedHints = 5;

/// When the newest hint ended, if nobody takes them: a pod came for each of the newest kUnusedHints, or for each one of
/// `last_plan`, and had no hint. Then whoever makes or schedules pods does not ask who serves hints. nullopt: hints are
/// taken, or too little is known. `evacuations`: those of the policy.
std::optional<base::TimePoint> newest_unused_hint(
    const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations,
    const std::vector<api::PlannedMove>& last_plan);

/// Policies (by UID) that plan without hints for a while. It outlasts the Evacuations that tell why. Not thread-safe.
class RestingHints {
 public:
  /// As for newest_unused_hint(), at `now`.
  void look(const std::string& policy, const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations,
            const std::vector<api::PlannedMove>& last_plan, base::TimePoint now);
  /// Why the policy's plans do without hints, for people; "": they need not.
  std::string why(const std::string& policy, base::TimePoint now) const;
  void forget(const std::string& policy) { until_.erase(policy); }

 private:
  std::map<std::string, base::TimePoint> until_;
};

}  // namespace controllers::placement
