#pragma once

/// Decides the next step of a DeschedulerPolicy: pure functions of the observation. The shell is reconciler.hpp.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "controllers/policy/gates/answers.hpp"
#include "controllers/policy/schedule/calendar.hpp"
#include "controllers/policy/usage/report.hpp"
#include "planner/plan/planner.hpp"

namespace controllers {

using Evacuations = std::vector<std::shared_ptr<const api::Evacuation>>;

/// Index of Evacuation stores by policy name.
inline constexpr std::string_view kByPolicy = "policy";

/// Policy as stored by the API server. One that does not decode has a spec_problem, which users see.
struct ObservedPolicy : api::DeschedulerPolicy {
  /// The spec with the strategies' arguments parsed once for all cycles; nullptr if spec_problem is set.
  std::shared_ptr<const planner::PlanSpec> plan_spec;
  /// With spec_problem: true if spec.limits are as stored, false if they do not decode and are the defaults.
  bool limits_are_readable = true;
  /// With spec_problem: true if the stored spec has blackouts or gates, whose state cannot be determined.
  bool holds_are_unknown = false;
};
/// Fails only if the text is not an object.
base::Result<ObservedPolicy> decode_observed_policy(std::string_view json);

/// Whether `time` was written by a clock that was ahead. Tolerates small differences between replicas.
inline bool is_from_the_future(base::TimePoint time, base::TimePoint now) { return time > now + base::minutes(1); }

/// Time of the next cycle. Suspended policies have none.
struct CycleTiming {
  bool due = false;
  std::optional<base::TimePoint> next{};
  Opening opening = Opening::kOpen;  ///< at the current time
  /// Time at which cycles may start again; nullopt if now, or not within ten years.
  std::optional<base::TimePoint> opens{};
  std::optional<base::TimePoint> changes{};  ///< time at which `opening` changes
};
/// With an interval, a policy that was never planned or whose spec changed is due at once, otherwise `interval` after
/// the last start. With cron, it is due at the times of the expression only; one missed time is made up for. A cycle
/// never starts outside of windows or in a blackout: it is postponed to the next opening (interval), or to the next
/// time inside one (cron).
CycleTiming cycle_timing(const api::DeschedulerPolicy& policy, base::TimePoint now);

/// Numbers of the policy's Evacuations.
struct PolicyTally {
  std::int32_t active = 0;   ///< unfinished
  std::int64_t evicted = 0;  ///< total number of pods that left under this policy
};
/// Count carried over in the status for finished Evacuations, which are deleted after their TTL.
struct EvictedCount {
  std::int64_t counted = 0;              ///< pods of Evacuations that finished up to `until`
  std::optional<base::TimePoint> until;  ///< nullopt if none is counted yet
};
struct TallyResult {
  PolicyTally tally;
  EvictedCount carried;
};
/// Counts one policy's Evacuations. Those that finished up to carried.until are included in carried.counted. Younger
/// ones are recounted each time, and move into the carried part once the cache certainly shows them all. A crash
/// between count and write neither loses nor duplicates any.
TallyResult tally(const Evacuations& evacuations, EvictedCount carried, base::TimePoint now);

/// Result of one planning cycle.
struct CycleOutcome {
  api::LastCycle summary;
  std::vector<api::PlannedMove> moves;       ///< all moves, in order; the status shows the first kMaxPublishedPlan
  std::vector<std::string> problems;         ///< strategies or creations that failed
  std::vector<api::RefusedPod> refusals{};   ///< first refusals, for the audit log and the status
  std::vector<std::string> warnings{};       ///< unexpected input that did not affect the rest of the cycle
  std::int64_t more_warnings = 0;            ///< number of warnings that are not in the list
  std::vector<api::BalanceRow> balance{};    ///< balance of the nodes; judge_balance() adds its history
  std::vector<UsageReport> usage{};          ///< by usage source of the policy
  std::vector<ForecastReport> forecasts{};   ///< by usage source of the policy
  std::vector<planner::NodeTaint> taints{};  ///< soft taints for nodes while the moves are carried out
  std::optional<api::StrategyState> strategy_state{};  ///< of a MultiCycle strategy
  bool is_judged = true;                               ///< false if one or all strategies could not judge
  /// In planning order. Each result owns the next `nominated` entries of the originally planned `moves`.
  std::vector<planner::StrategyResult> strategies{};
  std::int32_t existing = 0;         ///< number of moves whose Evacuation existed already
  std::set<std::string> refusing{};  ///< namespaces in which the server lets nothing be made
};

/// Creates the Evacuation for a planned move. `made_now`: number of moves that are carried out together, including it.
api::Evacuation evacuation_for(const api::DeschedulerPolicy& policy, const api::PlannedMove& move,
                               std::size_t made_now = 1);
/// Updates the summary's `nominated` and `waves` from the remaining moves.
void count_moves(CycleOutcome& outcome);

/// Computes the status from the previous one and the observation. `outcome` is nullptr if no cycle ran. Pure;
/// equal input yields an equal status, so an unchanged policy is not written.
api::DeschedulerPolicyStatus next_status(const api::DeschedulerPolicy& policy, const TallyResult& counts,
                                         const CycleOutcome* outcome, base::TimePoint now,
                                         const GateVerdict& gates = {});
/// Sets condition AuditLogFailing: True with the sink's error (`failing`), False when it has recovered; not set before.
void set_audit_condition(api::DeschedulerPolicyStatus& status, const std::string& failing, std::int64_t generation,
                         base::TimePoint now);
/// Sets condition Degraded while a cache is stale: True/StaleCaches with the caches and reasons, replacing problems of
/// the last cycle. Sets it to False when all caches are fresh again, until the next cycle updates it.
void set_stale_caches_condition(api::DeschedulerPolicyStatus& status, const std::vector<std::string>& stale,
                                std::int64_t generation, base::TimePoint now);
/// Sets condition Warnings: True with the first warnings (`more`: number of further ones), False when there are none.
/// Not set for a policy that never had any. Does not affect Ready or Degraded.
void set_warnings_condition(api::DeschedulerPolicyStatus& status, const std::vector<std::string>& warnings,
                            std::int64_t more, std::int64_t generation, base::TimePoint now);
/// Status of an invalid policy: Ready=False/InvalidSpec with the problem; counts are kept.
api::DeschedulerPolicyStatus invalid_status(const api::DeschedulerPolicyStatus& before, std::int64_t generation,
                                            std::string_view problem, base::TimePoint now);

}  // namespace controllers
