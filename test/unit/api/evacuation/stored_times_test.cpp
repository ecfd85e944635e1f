#include "api/evacuation/stored_times.hpp"

#include <gtest/gtest.h>

/// Stored times of a clock that was ahead are corrected after the clock is.
namespace stored_times_test {

using api::EvacuationStatus;
using base::minutes;
using base::seconds;
using std::chrono::hours;

const base::TimePoint kNow = *base::parse_time("2026-11-21T12:00:00Z");
const base::Duration kAhead = hours(24 * 30);

/// Status of an Evacuation that is blocked since `at` and retried ten seconds later. The next action is due a minute
/// after the retry, the deadline is fifteen minutes after `at`.
EvacuationStatus blocked(base::TimePoint at) {
  EvacuationStatus status;
  status.phase = api::EvacuationPhase::kRequesting;
  status.started_at = status.attempt_started_at = status.phase_entered_at = status.blocked_since = at;
  status.deadline = at + minutes(15);
  status.next_action_at = at + seconds(70);
  status.last_response = api::LastResponse{429, "PDBBlocked", "", at + seconds(10)};
  status.intent = api::EvacuationIntent{"PostEviction", "e.1", at + seconds(10), true, "", ""};
  status.blocked_by = {api::Blocker{"PodDisruptionBudget", "web", "", {}, {}, {}, at}};
  return status;
}

TEST(StoredTimes, OfTheFutureBecomeNowAndDueTimesKeepTheirDistance) {
  EvacuationStatus status = blocked(kNow + kAhead);
  api::correct_times(status, kNow);
  EXPECT_EQ(status.blocked_since, kNow);
  EXPECT_EQ(status.phase_entered_at, kNow);
  EXPECT_EQ(status.intent->time, kNow);
  EXPECT_EQ(status.last_response->time, kNow);
  EXPECT_EQ(status.blocked_by[0].since, kNow);
  EXPECT_EQ(status.next_action_at, kNow + seconds(60)) << "a minute after the answer";
  EXPECT_EQ(status.deadline, kNow + minutes(15) - seconds(10));
}

TEST(StoredTimes, OfACorrectClockStay) {
  for (const base::Duration apart : {-base::Duration(kAhead), base::Duration::zero(), base::Duration(seconds(50))}) {
    EvacuationStatus status = blocked(kNow + apart);
    const EvacuationStatus before = status;
    api::correct_times(status, kNow);
    EXPECT_EQ(status, before) << base::format_duration(apart);
  }
}

TEST(StoredTimes, OfACorrectClockStayBesideTimesOfAClockThatWasAhead) {
  EvacuationStatus status = blocked(kNow - minutes(5));
  status.last_heartbeat_at = kNow + hours(2);
  const auto deadline = status.deadline;
  api::correct_times(status, kNow);
  EXPECT_EQ(status.last_heartbeat_at, kNow);
  EXPECT_EQ(status.blocked_since, kNow - minutes(5));
  EXPECT_EQ(status.deadline, deadline);
}

TEST(StoredTimes, AreCorrectedOnce) {
  EvacuationStatus status = blocked(kNow + kAhead);
  api::correct_times(status, kNow);
  const EvacuationStatus corrected = status;
  api::correct_times(status, kNow + minutes(3));
  EXPECT_EQ(status, corrected);
}

TEST(StoredTimes, OfAFinishedEvacuationAndOfAPolicyAreCorrected) {
  EvacuationStatus finished;
  finished.finished_at = kNow + kAhead;
  api::correct_times(finished, kNow);
  EXPECT_EQ(finished.finished_at, kNow);

  api::DeschedulerPolicyStatus policy;
  policy.evicted_until = policy.circuit.counted_until = policy.circuit.opened_at = kNow + kAhead;
  policy.last_cycle.emplace().start = kNow + kAhead;
  api::correct_times(policy, kNow);
  EXPECT_EQ(policy.evicted_until, kNow);
  EXPECT_EQ(policy.circuit.counted_until, kNow);
  EXPECT_EQ(policy.circuit.opened_at, kNow);
  EXPECT_EQ(policy.last_cycle->start, kNow + kAhead) << "the next cycle is due at once, and heals it";
}

TEST(StoredTimes, InRefsBecomeNow) {
  EvacuationStatus status;
  status.refs = {{"preHookSince", base::format_time(kNow + kAhead)},
                 {"preHookNext", base::format_time(kNow + seconds(60))},
                 {"troubleSince", base::format_time(kNow - seconds(60))},
                 {"preHook", "Running"},
                 {"finishedBefore", "-"}};
  const auto before = status.refs;
  api::correct_times(status, kNow);
  EXPECT_EQ(status.refs[0].second, base::format_time(kNow));
  status.refs[0] = before[0];
  EXPECT_EQ(status.refs, before);
}

TEST(StoredTimes, DueTimesAreLimitedInAnyCase) {
  EvacuationStatus status = blocked(kNow - minutes(5));
  status.deadline = status.next_action_at = kNow + hours(24 * 365);
  api::correct_times(status, kNow);
  EXPECT_EQ(status.deadline, kNow + hours(24 * 14));
  EXPECT_EQ(status.next_action_at, kNow + hours(24 * 14));
  const EvacuationStatus corrected = status;
  api::correct_times(status, kNow + minutes(3));
  EXPECT_EQ(status, corrected);
}

}  // namespace stored_times_test
