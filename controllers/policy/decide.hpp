#pragma once

/// What a DeschedulerPolicy does next: pure functions of what was observed. The shell is reconciler.hpp.

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
#include "controllers/policy/gates/verdict.hpp"
#include "controllers/policy/schedule/calendar.hpp"
#include "controllers/policy/usage/report.hpp"
#include "planner/plan/planner.hpp"

namespace controllers {

/// The index of Evacuation stores by their policy's name.
inline constexpr std::string_view kByPolicy = "policy";

/// A policy as the API server holds it. One that does not decode is kept with its problem, so that the user is told.
struct ObservedPolicy : api::DeschedulerPolicy {
  /// The spec with the strategies' arguments parsed, for all planning cycles; nullptr where spec_problem is told.
  std::shared_ptr<const planning::PlanSpec> plan_spec;
  /// With spec_problem: spec.limits are as stored; else they are the defaults, because they do not decode.
  bool limits_are_readable = true;
  /// With spec_problem: it names blackouts or gates, and whether they hold cannot be known.
  bool holds_are_unknown = false;
};
/// Fails only on what is no object.
base::Result<ObservedPolicy> decode_observed_policy(std::string_view json);

/// A time that a clock wrote which was ahead. Replicas whose clocks differ a little are none.
inline bool is_from_the_future(base::TimePoint time, base::TimePoint now) { return time > now + base::minutes(1); }

/// When the next cycle runs. Suspended policies have none.
struct CycleTiming {
  bool due = false;
  std::optional<base::TimePoint> next{};
  Opening opening = Opening::kOpen;          ///< now
  std::optional<base::TimePoint> opens{};    ///< when cycles may start again; nullopt: now, or not within ten years
  std::optional<base::TimePoint> changes{};  ///< when `opening` is another one
};
/// By interval: a policy that was never planned, or whose spec changed since, is due at once, else `interval` after the
/// last start. By cron: at the times of the expression alone; one that was missed is made up for once. Never outside
/// of windows or inside a blackout: then at the next opening (interval), or the next time that is inside one (cron).
CycleTiming cycle_timing(const api::DeschedulerPolicy& policy, base::TimePoint now);

/// The policy's Evacuations as they stand.
struct PolicyTally {
  std::int32_t active = 0;   ///< unfinished
  std::int64_t evicted = 0;  ///< ever: pods that left under this policy
};
/// What the status keeps of finished Evacuations, which are deleted after their TTL.
struct EvictedCount {
  std::int64_t counted = 0;              ///< pods of those that finished up to `until`
  std::optional<base::TimePoint> until;  ///< nullopt: none is counted yet
};
struct TallyResult {
  PolicyTally tally;
  EvictedCount carried;
};
/// Adds up one policy's Evacuations. Those that finished up to carried.until are in carried.counted already, younger
/// ones are counted each time again; those that settled meanwhile move into the carried part. Nothing is counted twice,
/// or lost by a crash between count and write.
TallyResult tally(const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations, EvictedCount carried,
                  base::TimePoint now);

/// What one planning cycle brought.
struct CycleOutcome {
  api::LastCycle summary;
  std::vector<api::PlannedMove> moves;        ///< all of them, in order; the status shows the first kMaxPublishedPlan
  std::vector<std::string> problems;          ///< strategies or creations that failed
  std::vector<api::RefusedPod> refusals{};    ///< the first of them, for the audit log and the status
  std::vector<std::string> warnings{};        ///< strange input that did no harm to the rest of the cycle
  std::int64_t more_warnings = 0;             ///< that are not in the list
  std::vector<api::BalanceRow> balance{};     ///< how even nodes are; judge_balance() adds its history
  std::vector<UsageReport> usage{};           ///< of the policy's sources
  std::vector<ForecastReport> forecasts{};    ///< the same
  std::vector<planning::NodeTaint> taints{};  ///< soft taints that nodes are to bear while the moves are made
  std::optional<api::RoundsStatus> rounds{};  ///< of a strategy that works in rounds
  bool is_judged = true;                      ///< false: a strategy, or all, could not judge
  /// In the order of `moves` as they were planned, which belong to them by number.
  std::vector<planning::StrategyResult> strategies{};
  std::int32_t existing = 0;         ///< moves whose Evacuation was there already
  std::set<std::string> refusing{};  ///< namespaces in which the server lets nothing be made
};

/// The Evacuation that carries out one planned move. `made_now`: the moves that are made with it, itself included.
api::Evacuation evacuation_for(const api::DeschedulerPolicy& policy, const api::PlannedMove& move,
                               std::size_t made_now = 1);
/// The summary's `nominated` and `waves`, by the moves that are left.
void count_moves(CycleOutcome& outcome);

/// The whole status from the one before and what is known now. `outcome` is nullptr when no cycle ran. Pure; equal
/// input gives an equal status, so an unchanged policy is not written.
api::DeschedulerPolicyStatus next_status(const api::DeschedulerPolicy& policy, const TallyResult& counts,
                                         const CycleOutcome* outcome, base::TimePoint now,
                                         const GateVerdict& gates = {});
/// Condition AuditLogFailing: True with the sink's error (`failing`), False once it is over; a policy that has never
/// seen the audit log fail does not have it.
void set_audit_condition(api::DeschedulerPolicyStatus& status, const std::string& failing, std::int64_t generation,
                         base::TimePoint now);
/// Condition Degraded while a cache is stale: True/StaleCaches with which and why; what the last cycle had to tell
/// gives way to it. Once there is none, False, until the next cycle says more.
void set_stale_caches_condition(api::DeschedulerPolicyStatus& status, const std::vector<std::string>& stale,
                                std::int64_t generation, base::TimePoint now);
/// Condition Warnings: True with the first of them (`more` others are not in the list), False once there are none; a
/// policy that has never had one does not have it. It takes nothing away from Ready and does not degrade.
void set_warnings_condition(api::DeschedulerPolicyStatus& status, const std::vector<std::string>& warnings,
                            std::int64_t more, std::int64_t generation, base::TimePoint now);
/// Of a policy that is invalid: Ready=False/InvalidSpec with the problem, counts kept.
api::DeschedulerPolicyStatus invalid_status(const api::DeschedulerPolicyStatus& before, std::int64_t generation,
                                            std::string_view problem, base::TimePoint now);

}  // namespace controllers
