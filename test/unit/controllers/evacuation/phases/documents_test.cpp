#include <gtest/gtest.h>

#include "evictors/eviction_api.hpp"
#include "test/unit/controllers/evacuation/phases/life.hpp"

/// Answers of evictors that read more than the pod. A scripted evictor returns what the test sets.
namespace evacuation_documents_test {

using namespace evacuation_test;
using base::seconds;
using Phase = api::EvacuationPhase;

struct Script {
  evictors::Observation remote;
  evictors::Verification arrival;
  std::vector<evictors::Read> reads;
};

class Puppet final : public evictors::Evictor {
 public:
  explicit Puppet(const Script& script) : script_(script) {}
  std::string_view name() const override { return "puppet"; }
  api::FieldErrors validate(const std::vector<std::pair<std::string, std::string>>&,
                            const api::FieldPath&) const override {
    return {};
  }
  std::vector<evictors::Read> reads(const evictors::EvictorContext&) const override { return script_.reads; }
  evictors::Verification verify(const evictors::EvictorContext&) const override { return script_.arrival; }
  evictors::Probe probe(const evictors::EvictorContext&) const override { return {}; }
  evictors::EvictionStep plan(const evictors::EvictorContext& context) const override {
    if (context.evacuation.status.phase == Phase::kPreparing) return {evictors::NextMove::kProceed, {}};
    return {evictors::NextMove::kWait, {}};
  }
  evictors::Observation observe(const evictors::EvictorContext&) const override { return script_.remote; }
  evictors::Classification classify(const evictors::EvictorContext&, const evictors::Action&,
                                    const evictors::CallResult&) const override {
    return {};
  }
  std::vector<evictors::Action> undo(const evictors::EvictorContext&) const override { return {}; }
  evictors::Rollback undone(const evictors::EvictorContext&) const override { return evictors::Rollback::kNothingToDo; }
  std::vector<evictors::Action> cleanup(const evictors::EvictorContext&) const override { return {}; }

 private:
  const Script& script_;
};

class Documents : public testing::Test {
 protected:
  Documents() {
    registry.add(std::make_unique<Puppet>(script));
    seen.evacuation = make_evacuation();
    seen.evacuation.meta.finalizers = {"evacuator.dev/evacuation"};
    auto& status = seen.evacuation.status;
    status.phase = Phase::kInProgress;
    status.phase_entered_at = status.in_progress_since = kNoon;
    status.deadline = kNoon + seconds(600);
    status.evictor = "puppet";
    status.attempt = 1;
    status.token = seen.evacuation.current_token();
    seen.evacuation.spec.timeouts.total = seconds(600);
    seen.evacuation.spec.retry.max_attempts = 1;
    seen.pod = std::make_shared<const api::Pod>(make_pod());
  }

  api::EvacuationStatus& status() { return seen.evacuation.status; }
  controllers::evacuation::Decision tick(base::Duration after = {}) {
    now += after;
    auto decision = controllers::evacuation::decide(seen, registry, now);
    seen.evacuation.status = decision.status;
    return decision;
  }

  Script script;
  evictors::EvictorRegistry registry;
  controllers::evacuation::Observed seen;
  base::TimePoint now = kNoon;
};

TEST_F(Documents, TheTotalTimeoutPausesWhileQueued) {
  script.remote.queued = true;
  tick(seconds(10));
  tick(seconds(1800));
  EXPECT_EQ(status().phase, Phase::kInProgress) << "past the total timeout, but it only waited";
  script.remote.queued = false;
  tick(seconds(10));
  EXPECT_EQ(status().queued_since, std::nullopt);
  EXPECT_EQ(status().deadline, kNoon + seconds(600 + 1810));
  tick(seconds(589));
  EXPECT_EQ(status().phase, Phase::kInProgress);
  tick(seconds(1));
  EXPECT_EQ(status().phase, Phase::kFailed);
  EXPECT_EQ(status().reason, "ProgressTimeout");
}

TEST_F(Documents, TheQueueItselfIsBounded) {
  script.remote.queued = true;
  tick();
  tick(seconds(3599));
  EXPECT_EQ(status().phase, Phase::kInProgress);
  tick(seconds(1));
  EXPECT_EQ(status().phase, Phase::kFailed);
  EXPECT_NE(status().message.find("queued"), std::string::npos) << status().message;
}

TEST_F(Documents, TheQueueIsBoundedOverAllItsSpells) {
  tick();
  base::Duration queued{};
  for (int spell = 0; spell < 1000 && status().phase == Phase::kInProgress; ++spell) {
    script.remote.queued = true;
    tick(base::milliseconds(100));  // the queued state flips indefinitely
    script.remote.queued = false;
    queued += base::milliseconds(3500);
    tick(base::milliseconds(3500));
  }
  EXPECT_EQ(status().phase, Phase::kFailed);
  EXPECT_EQ(status().reason, "ProgressTimeout");
  EXPECT_LE(queued, seconds(3600));
  EXPECT_LE(now, kNoon + seconds(3600 + 600 + 10)) << "timeouts.queue and timeouts.total, once each";
}

TEST_F(Documents, ANewAttemptHasAQueueTimeOfItsOwn) {
  status().refs = {{"queuedSeconds", "3600"}};
  script.remote.queued = true;
  tick();
  EXPECT_EQ(status().phase, Phase::kFailed) << "nothing is left of it";
  seen.evacuation.meta.finalizers = {"evacuator.dev/evacuation"};
  status().phase = Phase::kBackoff;
  status().abort.reset();
  seen.evacuation.spec.retry.max_attempts = 5;
  seen.slot.state = controllers::Slot::State::kGranted;
  tick(std::chrono::hours(1));
  EXPECT_TRUE(status().refs.empty());
}

TEST_F(Documents, TheEtaComesFromTheRemoteSideElseProgressElseHistory) {
  tick();
  EXPECT_EQ(status().expected_completion_at, std::nullopt);
  seen.past_durations = {seconds(100), seconds(200), seconds(900)};
  tick();
  EXPECT_EQ(status().expected_completion_at, kNoon + seconds(200)) << "the median";
  script.remote.progress = 25;
  tick(seconds(60));
  EXPECT_EQ(status().expected_completion_at, kNoon + seconds(240));
  tick(seconds(30));
  EXPECT_EQ(status().expected_completion_at, kNoon + seconds(240)) << "the same progress is no news";
  script.remote.expected_completion = kNoon + seconds(333);
  tick();
  EXPECT_EQ(status().expected_completion_at, kNoon + seconds(333));
}

TEST_F(Documents, RemembersRefsAndForgetsEmptyOnes) {
  script.remote.refs = {{"vmi", "vm/1"}, {"migration", "m-1"}};
  tick();
  script.remote.refs = {{"migration", ""}, {"vmi", "vm/2"}};
  tick();
  EXPECT_EQ(status().refs, (evictors::Refs{{"vmi", "vm/2"}}));
}

TEST_F(Documents, ForeignTextIsStoredAsTheServerWillGiveItBack) {
  script.remote.message = "gr\xFC\xDF";
  script.remote.refs = {{"vmi", "db\xE2\x82"}};
  tick();
  const auto* told = api::find_condition(status().conditions, "Progressing");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->message, "gr\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(status().refs, (evictors::Refs{{"vmi", "db\xEF\xBF\xBD\xEF\xBF\xBD"}}));
  const api::EvacuationStatus stored = status();
  EXPECT_EQ(tick().status, stored) << "else each look would find a difference, and write it again";
}

TEST_F(Documents, ReportsEachNewRemoteFailureOnce) {
  script.remote.failures = 1;
  script.remote.last_failure = "no bandwidth";
  EXPECT_EQ(tick().events.size(), 1u);
  EXPECT_TRUE(tick().events.empty());
  script.remote.failures = 2;
  EXPECT_EQ(tick().events.size(), 1u);
}

TEST_F(Documents, ADeadRemoteSideHandsOverToTheNextEvictorAtOnce) {
  seen.evacuation.spec.evictors = {{"puppet", {}}, {"eviction-api", {}}};
  registry.add(std::make_unique<evictors::EvictionApi>());
  seen.evacuation.spec.retry.max_attempts = 2;
  script.remote.dead = true;
  script.remote.failed =
      evictors::RemoteFailure{"NotServed", "nobody answers", false, true, api::Reason::kNativeFailed};
  const auto decision = tick();
  EXPECT_EQ(decision.dead, "puppet");
  EXPECT_EQ(status().phase, Phase::kBackoff);
  EXPECT_EQ(status().evictor_index, 1);
  EXPECT_EQ(status().next_action_at, now);
}

TEST_F(Documents, TheEvictorEndsTheWaitForAReplacement) {
  seen.pod = nullptr;
  status().request_sent_at = kNoon;
  script.arrival.state = evictors::Verification::State::kPending;
  tick();
  EXPECT_EQ(status().phase, Phase::kVerifying);
  script.arrival.state = evictors::Verification::State::kArrived;
  script.arrival.kind = api::OutcomeKind::kMigrated;
  script.arrival.replacement = api::EvacuationReplacement{"vm-target", "u-9", {"node-b"}, now};
  tick(seconds(1));
  EXPECT_EQ(status().phase, Phase::kSucceeded);
  EXPECT_EQ(status().reason, "Migrated");
  EXPECT_EQ(status().message, "migrated to node node-b");
}

TEST_F(Documents, AnObjectDeletedDuringTheMoveEndsAsTargetGone) {
  seen.pod = nullptr;
  status().request_sent_at = kNoon;
  script.arrival.state = evictors::Verification::State::kNotExpected;
  script.arrival.kind = api::OutcomeKind::kTargetGone;
  script.arrival.message = "VirtualMachine db was deleted with its VM";
  tick();
  EXPECT_EQ(status().phase, Phase::kCancelled);
  EXPECT_EQ(status().reason, "TargetGone");
  EXPECT_EQ(status().message, "VirtualMachine db was deleted with its VM");
}

TEST_F(Documents, PendingWorkIsDoneBeforeTheEnd) {
  seen.pod = nullptr;
  status().request_sent_at = kNoon;
  script.arrival.state = evictors::Verification::State::kNotExpected;
  script.arrival.unfinished = true;
  script.arrival.action = evictors::Action{evictors::ActionRole::kCleanUp, "ScaleBack", {}, "", ""};
  const auto decision = tick();
  ASSERT_TRUE(decision.action);
  EXPECT_EQ(decision.action->name, "ScaleBack");
  EXPECT_EQ(status().phase, Phase::kVerifying);
  script.arrival.action.reset();
  tick(seconds(1));
  EXPECT_EQ(status().phase, Phase::kVerifying) << "what it started is not over";
  script.arrival.unfinished = false;
  tick(seconds(1));
  EXPECT_EQ(status().phase, Phase::kSucceeded);
}

TEST_F(Documents, ReadsOnlyMissingDocuments) {
  script.reads = {{"vmi", {}, ""}, {"migrations", {}, ""}};
  auto wanted = controllers::evacuation::wanted_reads(seen, registry, now);
  ASSERT_EQ(wanted["puppet"].size(), 2u);
  seen.documents["puppet"].push_back({"vmi", 404, ""});
  wanted = controllers::evacuation::wanted_reads(seen, registry, now);
  ASSERT_EQ(wanted["puppet"].size(), 1u);
  EXPECT_EQ(wanted["puppet"][0].name, "migrations");
}

TEST_F(Documents, AsksForNothingWhileItWaitsForASlot) {
  script.reads = {{"vmi", {}, ""}};
  status().phase = Phase::kPending;
  seen.slot.state = controllers::Slot::State::kWaiting;
  EXPECT_TRUE(controllers::evacuation::wanted_reads(seen, registry, now).empty());
  seen.slot.state = controllers::Slot::State::kGranted;
  EXPECT_FALSE(controllers::evacuation::wanted_reads(seen, registry, now).empty());
}

}  // namespace evacuation_documents_test
