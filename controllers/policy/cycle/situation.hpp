#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "controllers/policy/balance/rounds.hpp"
#include "controllers/policy/decide.hpp"
#include "controllers/policy/gates/verdict.hpp"
#include "controllers/policy/ports.hpp"
#include "controllers/policy/waves.hpp"
#include "planner/plan/plan_spec.hpp"

namespace controllers {

/// What a policy's next step depends on, as it is now.
struct Situation {
  base::TimePoint now{};
  GateVerdict gates;
  std::vector<std::shared_ptr<const api::Evacuation>> evacuations;  ///< the policy's
  WaveProgress wave;
  WaveState moved = WaveState::kNone;  ///< where a strategy works in rounds: what the last cycle made
  Settlement settled;
  CycleTiming timing;              ///< by the schedule, and by what happened meanwhile
  std::vector<std::string> stale;  ///< caches

  bool is_moving() const { return wave.state == WaveState::kUnderWay || moved == WaveState::kUnderWay; }
  /// While a wave is under way its holes are not free yet. A plan that moves nothing does no harm.
  bool is_put_off(api::PolicyMode mode) const {
    const bool is_held = wave.state == WaveState::kUnderWay && mode != api::PolicyMode::kDryRun;
    return timing.due && (!stale.empty() || is_held);
  }
  /// When the policy is to be looked at again, its next cycle apart; nullopt: when something changes.
  std::optional<base::TimePoint> changes(const api::DeschedulerPolicyStatus& next) const;
};

/// Looks at policies; changes nothing but triggers that came at a time when no cycle may start.
class SituationObserver {
 public:
  /// The arguments must outlive it.
  SituationObserver(const base::Clock& clock, const PolicyCaches& caches, const PolicySteering& steering)
      : clock_(clock), caches_(caches), steering_(steering) {}

  Situation observe(const api::DeschedulerPolicy& policy, const planning::PlanSpec& spec, GateVerdict gates) const;
  std::vector<std::string> stale_caches() const;

 private:
  Settlement settlement(const api::DeschedulerPolicy& policy, const Situation& situation) const;
  CycleTiming timing_with_triggers(const api::DeschedulerPolicy& policy, bool continues, base::TimePoint now) const;
  CycleTiming timing_once(const api::DeschedulerPolicy& policy, base::TimePoint now) const;

  const base::Clock& clock_;
  const PolicyCaches& caches_;
  const PolicySteering& steering_;
};

}  // namespace controllers
