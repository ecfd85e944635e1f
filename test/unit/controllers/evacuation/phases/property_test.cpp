#include <gtest/gtest.h>

#include <random>

#include "test/unit/controllers/evacuation/phases/life.hpp"

/// Property test of the invariants that concern decide(): random behavior of pods, owners, servers and users, and
/// crashes at any point.
namespace evacuation_property_test {

using namespace evacuation_test;
using base::seconds;
using Phase = EvacuationPhase;

class World {
 public:
  explicit World(std::uint32_t seed) : random_(seed), life_(evacuation(), pod()) {}

  void run() {
    for (int i = 0; i < 120 && !done(); ++i) {
      disturb();
      if (HasFailure()) return;
      turn();
    }
    silence();
  }

 private:
  static bool HasFailure() { return testing::Test::HasFatalFailure() || testing::Test::HasNonfatalFailure(); }
  bool one_in(unsigned n) { return random_() % n == 0; }
  bool done() { return api::is_terminal(life_.phase()) && life_.seen.evacuation.meta.finalizers.empty(); }

  api::Evacuation evacuation() {
    api::Evacuation result = make_evacuation();
    result.spec.retry.max_attempts = static_cast<std::int32_t>(1 + random_() % 3);
    result.spec.dry_run = one_in(8);
    result.spec.require_replacement = one_in(4);
    result.spec.on_timeout = static_cast<api::OnTimeout>(random_() % 3);
    if (one_in(3)) result.spec.timeouts.blocked = seconds(random_() % 200);
    if (one_in(4)) result.spec.evictors = {{"annotation", {}}, {"eviction-api", {}}};
    if (one_in(4)) result.spec.pod_ref.uid = {};
    return result;
  }

  api::Pod pod() {
    Annotations annotations;
    if (one_in(2)) annotations.push_back(handoff("mode", one_in(2) ? "required" : "optional"));
    if (one_in(3)) annotations.push_back(handoff("phases", one_in(2) ? "pre,migrate" : "pre,migrate,post"));
    if (one_in(4)) annotations.push_back(handoff("evict-by", "owner"));
    if (one_in(3)) annotations.push_back({"descheduler.alpha.kubernetes.io/request-evict-only", ""});
    return make_pod(std::move(annotations));
  }

  void disturb() {
    static const char* const kKeys[] = {"ack",    "heartbeat", "progress", "pre-done", "ready-to-evict",
                                        "failed", "aborted"};
    life_.advance(base::milliseconds(random_() % 90'000));
    life_.slot = one_in(3) ? Slot::State::kWaiting : Slot::State::kGranted;
    life_.seen.woken = one_in(5);
    if (one_in(40)) life_.seen.resumed_at = life_.now;
    if (one_in(30)) life_.cancel();
    if (one_in(50)) life_.seen.evacuation.meta.deletion_timestamp = life_.now;
    const bool asked_to_stop = life_.spec().cancel.requested || life_.seen.evacuation.meta.is_terminating();
    cancelled_ |= asked_to_stop && !api::is_terminal(life_.phase());
    if (!life_.seen.pod) return;
    if (one_in(3)) {
      const std::string token = one_in(5) ? "e5b3.9" : life_.status().token;
      const std::string key = kKeys[random_() % 7];
      life_.operator_says(key, key == "failed"                      ? token + (one_in(2) ? ":RetryableX:y" : ":X:y")
                               : key == "heartbeat" || key == "ack" ? token + "@" + std::to_string(random_())
                               : key == "progress"                  ? token + "@" + std::to_string(random_() % 120)
                                                                    : token);
    }
    if (one_in(8)) life_.operator_withdraws(kKeys[random_() % 7]);
    if (one_in(12)) life_.annotate("descheduler.alpha.kubernetes.io/eviction-in-progress", "true");
    if (one_in(60)) life_.pod_terminates();
    if (one_in(80)) life_.set_pod(make_pod({}, "successor"));
    if (life_.seen.pod->meta.is_terminating() && one_in(4)) life_.pod_vanishes();
    if (one_in(10)) life_.replacement(one_in(2));
  }

  void turn() {
    const Phase before = life_.phase();
    life_.tick();
    check(before);
    for (int i = 0; i < 8 && life_.last.action; ++i) {
      check_action();
      if (one_in(6)) return life_.crash_before_answer(one_in(2));
      const Phase asked_in = life_.phase();
      answer();
      check(asked_in);
    }
  }

  void answer() {
    const bool patch = life_.last.action->request.method == "PATCH";
    switch (random_() % 8) {
      case 0: life_.lose_answer(); return;
      case 1: life_.answer(409, status_body(409, "conflict")); return;
      case 2: life_.answer(429, one_in(2) ? pdb_body() : "busy"); return;
      case 3: life_.answer(one_in(2) ? 500 : 404, status_body(500, "oops")); return;
      case 4:
        if (one_in(6)) return (void)life_.answer(403, status_body(403, "rbac"));
        [[fallthrough]];
      default: break;
    }
    if (patch) return (void)life_.accept_patch();
    if (one_in(4)) {
      return (void)life_.answer(
          429, status_body(429, R"(admission webhook \"v\" denied the request: Eviction triggered evacuation)"));
    }
    if (!life_.spec().dry_run && life_.seen.pod && life_.seen.pod->uid() == life_.spec().pod_ref.uid && !one_in(6))
      life_.pod_terminates();
    life_.answer(201);
  }

  void check_action() {
    const auto& action = *life_.last.action;
    const auto& intent = life_.status().intent;
    ASSERT_TRUE(intent) << "I3";
    ASSERT_FALSE(intent->resolved) << "I3";
    ASSERT_EQ(intent->action, action.name) << "I3";
    ASSERT_EQ(intent->token, life_.status().token) << "I3";
    ASSERT_TRUE(life_.seen.pod && life_.seen.pod->uid() == life_.spec().pod_ref.uid) << "I8";
    const bool late = life_.phase() == Phase::kEvicting || life_.phase() == Phase::kVerifying;
    ASSERT_FALSE(late && action.role == evictors::ActionRole::kUndo) << "I9";
    ASSERT_FALSE(late) << "I9";
    if (life_.spec().dry_run) {
      ASSERT_EQ(action.request.query, "dryRun=All") << "I17";
    }
    if (action.name != "PostEviction" || life_.spec().dry_run) return;
    ASSERT_FALSE(life_.seen.pod->meta.is_terminating()) << "already leaving";
    const auto& annotations = life_.seen.pod->meta.annotations;
    if (annotations.value("handoff.evacuator.dev/mode") == "required") {
      ASSERT_EQ(annotations.value("handoff.evacuator.dev/ready-to-evict"), life_.status().token) << "I10";
    }
  }

  void check(Phase before) {
    const auto& status = life_.status();
    if (api::is_terminal(before)) {
      ASSERT_EQ(status.phase, before) << "I5";
    }
    ASSERT_EQ(api::is_true(status.conditions, "Complete"), api::is_terminal(status.phase)) << "I5";
    ASSERT_LE(status.attempt, life_.spec().retry.max_attempts) << "I6";
    ASSERT_GE(status.attempt, attempt_) << "I6";
    attempt_ = status.attempt;
    if (attempt_ > 0) {
      ASSERT_EQ(status.token, "e5b3." + std::to_string(attempt_)) << "I6";
    }
    ASSERT_LE(status.history.size(), 20u);
    if (api::is_terminal(status.phase)) {
      ASSERT_TRUE(status.finished_at);
    } else {
      ASSERT_TRUE(status.deadline) << "I12: " << api::to_string(status.phase);
      const bool answered_for = life_.last.action.has_value();
      if (!answered_for) {
        ASSERT_TRUE(life_.last.requeue.after) << "I12: nobody would come back in " << api::to_string(status.phase);
      }
    }
    no_return_ |= status.phase == Phase::kEvicting || status.phase == Phase::kVerifying;
    if (api::is_terminal(status.phase) && cancelled_ && !no_return_ && status.reason != "DryRun") {
      ASSERT_EQ(status.phase, Phase::kCancelled) << "I9: " << status.reason;
    }
    const bool success = status.phase == Phase::kSucceeded && status.reason != "DryRun";
    const bool gone =
        !life_.seen.pod || life_.seen.pod->uid() != life_.spec().pod_ref.uid || life_.seen.pod->is_terminal();
    if (success) {
      ASSERT_TRUE(gone) << "I16";
    }
  }

  /// I12: without any external event, the Evacuation ends by timeouts alone.
  void silence() {
    life_.slot = Slot::State::kWaiting;
    life_.seen.woken = false;
    for (int i = 0; i < 4000 && !done(); ++i) {
      const Phase before = life_.phase();
      life_.tick();
      check(before);
      if (HasFailure()) return;
      if (life_.last.action) {
        check_action();
        life_.lose_answer();
      }
      life_.advance(std::max<base::Duration>(life_.last.requeue.after.value_or(seconds(1)), seconds(1)));
    }
    ASSERT_TRUE(done()) << "still " << api::to_string(life_.phase()) << " " << life_.status().reason;
  }

  std::mt19937 random_;
  Life life_;
  std::int32_t attempt_ = 0;
  bool cancelled_ = false;  ///< cancelled before any verdict
  bool no_return_ = false;
};

TEST(EvacuationInvariants, HoldInEveryRandomWorld) {
  for (std::uint32_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World(seed).run();
    if (testing::Test::HasFailure()) return;
  }
}

/// decide() is a pure function: equal observations give equal decisions.
TEST(EvacuationInvariants, EqualObservationsGiveEqualDecisions) {
  Life life;
  life.tick();
  const auto once = controllers::evacuation::decide(life.seen, life.registry(), life.now);
  const auto twice = controllers::evacuation::decide(life.seen, life.registry(), life.now);
  EXPECT_EQ(once.status, twice.status);
  EXPECT_EQ(once.action, twice.action);
  EXPECT_EQ(once.events, twice.events);
}

/// Whatever a stored status contains (edited manually, incomplete, of another version), the operator does not crash and
/// the Evacuation ends.
TEST(EvacuationInvariants, AnArbitraryStatusIsTolerated) {
  for (int phase = 0; phase <= static_cast<int>(Phase::kCancelled); ++phase) {
    for (int variant = 0; variant < 8; ++variant) {
      Life life;
      life.status().phase = static_cast<Phase>(phase);
      life.seen.evacuation.meta.finalizers = {"evacuator.dev/evacuation"};
      if (variant & 1) life.status().evictor = "annotation";
      if (variant & 2) life.status().intent = api::EvacuationIntent{"Abort", "x.7", kNoon, false, "", ""};
      if (variant & 4) life.pod_vanishes();
      life.status().evictor_index = -5;
      life.status().attempt = variant & 1 ? -3 : 1'000'000;
      for (int i = 0; i < 200 && !(api::is_terminal(life.phase()) && !life.last.action); ++i) {
        life.tick();
        if (life.last.action) life.lose_answer();
        life.advance(seconds(100));
      }
      EXPECT_TRUE(api::is_terminal(life.phase())) << phase << " " << variant << " " << api::to_string(life.phase());
    }
  }
}

}  // namespace evacuation_property_test
