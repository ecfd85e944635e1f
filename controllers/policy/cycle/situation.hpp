#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "controllers/policy/balance/rounds.hpp"
#include "controllers/policy/decide.hpp"
#include "controllers/policy/gates/answers.hpp"
#include "controllers/policy/ports.hpp"
#include "controllers/policy/waves.hpp"
#include "planner/plan/plan_spec.hpp"

namespace controllers {

/// What a policy's next step depends on, as it is now.
struct Situation {
  base::TimePoint now{};
  GateVerdict gates;
  Evacuations evacuations;  ///< of the policy
  WaveProgress wave;
  /// MultiCycle strategy of the spec, which outlives this object; nullptr if there is none.
  const strategies::MultiCycle* strategy = nullptr;
  WaveState moved = WaveState::kNone;  ///< with `strategy`: progress of the last cycle's moves
  Settlement settled;
  CycleTiming timing;              ///< by the schedule and by triggers
  std::vector<std::string> stale;  ///< names of stale caches

  bool is_moving() const { return wave.state == WaveState::kUnderWay || moved == WaveState::kUnderWay; }
  /// Whether a due cycle must wait for a stale cache or a wave under way, whose gaps are not free yet. Dry runs need
  /// not wait for a wave, because they move nothing.
  bool is_put_off(api::PolicyMode mode) const {
    const bool is_held = wave.state == WaveState::kUnderWay && mode != api::PolicyMode::kDryRun;
    return timing.due && (!stale.empty() || is_held);
  }
  /// Next time to reconcile the policy apart from its next cycle; nullopt to wait for an event.
  std::optional<base::TimePoint> changes(const api::DeschedulerPolicyStatus& next) const;
};

/// Observes policies. Without side effects, except that it clears triggers that came while no cycle may start.
class SituationObserver {
 public:
  /// The arguments must outlive it.
  SituationObserver(const base::Clock& clock, const PolicyCaches& caches, const PolicySteering& steering)
      : clock_(clock), caches_(caches), steering_(steering) {}

  Situation observe(const api::DeschedulerPolicy& policy, const planner::PlanSpec& spec, GateVerdict gates) const;
  std::vector<std::string> stale_caches() const;

 private:
  Settlement settlement(const api::DeschedulerPolicy& policy, const Situation& situation) const;
  CycleTiming timing_with_triggers(const api::DeschedulerPolicy& policy, bool continues, base::TimePoint now) const;

  const base::Clock& clock_;
  const PolicyCaches& caches_;
  const PolicySteering& steering_;
};

}  // namespace controllers
