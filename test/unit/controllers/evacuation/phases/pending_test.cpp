#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>

#include "test/unit/controllers/evacuation/phases/decide_fixture.hpp"

/// decide() in phase Pending: validity, limits and capacity.
namespace evacuation_pending_test {

using namespace evacuation_decide_fixture;

TEST(DecidePending, FillsInOmittedFields) {
  auto evacuation = make_evacuation();
  evacuation.spec.pod_ref.uid = {};
  evacuation.spec.node_name = {};
  Life life(evacuation);
  life.tick();
  EXPECT_EQ(life.spec().pod_ref.uid.value, kPodUid);
  EXPECT_EQ(life.spec().node_name.value, "node-a");
  EXPECT_EQ(life.action(), "PostEviction");
}

struct EndCase {
  const char* name;
  std::function<void(Life&)> given;
  Phase phase;
  const char* reason;
};

class PendingEnds : public testing::TestWithParam<EndCase> {};

TEST_P(PendingEnds, WithoutACall) {
  Life life;
  life.slot = Slot::State::kWaiting;
  GetParam().given(life);
  life.tick();
  EXPECT_EQ(life.phase(), GetParam().phase);
  EXPECT_EQ(life.status().reason, GetParam().reason) << life.status().message;
  EXPECT_EQ(life.action(), "");
  EXPECT_EQ(life.condition_reason("Complete"), GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(
    Decide, PendingEnds,
    testing::Values(
        EndCase{"PodGone", [](Life& l) { l.pod_vanishes(); }, Phase::kCancelled, "TargetGone"},
        EndCase{"PodReplaced", [](Life& l) { l.set_pod(make_pod({}, "other")); }, Phase::kCancelled, "TargetGone"},
        EndCase{"PodTerminating", [](Life& l) { l.pod_terminates(); }, Phase::kCancelled, "TargetGone"},
        EndCase{"NoSuchPod",
                [](Life& l) {
                  l.spec().pod_ref.uid = {};
                  l.pod_vanishes();
                },
                Phase::kCancelled, "TargetGone"},
        EndCase{"Cancelled", [](Life& l) { l.cancel(); }, Phase::kCancelled, "UserCancelled"},
        EndCase{"PolicyDeleted",
                [](Life& l) {
                  l.spec().cancel = {true, "PolicyDeleted"};
                },
                Phase::kCancelled, "PolicyDeleted"},
        EndCase{"Deleted", [](Life& l) { l.seen.evacuation.meta.deletion_timestamp = kNoon; }, Phase::kCancelled,
                "ObjectDeleted"},
        EndCase{"PolicyOfItDeleted",
                [](Life& l) {
                  l.seen.evacuation.meta.deletion_timestamp = kNoon;
                  l.seen.policy_gone = true;
                },
                Phase::kCancelled, "PolicyDeleted"},
        EndCase{"DecisionExpired", [](Life& l) { l.advance(seconds(600)); }, Phase::kCancelled, "DecisionExpired"},
        EndCase{"InvalidSpec", [](Life& l) { l.seen.spec_problem = "spec.x: bad"; }, Phase::kFailed, "InvalidSpec"},
        EndCase{"Duplicate", [](Life& l) { l.seen.duplicate_of = "first"; }, Phase::kFailed, "DuplicateRequest"},
        EndCase{"WrongNode", [](Life& l) { l.spec().node_name = {"node-z"}; }, Phase::kFailed, "InvalidSpec"},
        EndCase{"MirrorPod", [](Life& l) { l.annotate("kubernetes.io/config.mirror", "x"); }, Phase::kFailed,
                "InvalidSpec"},
        EndCase{"DaemonSetPod",
                [](Life& l) {
                  api::Pod pod = make_pod();
                  pod.meta.owner_references[0].kind = "DaemonSet";
                  l.set_pod(pod);
                },
                Phase::kFailed, "InvalidSpec"}),
    [](const auto& test) { return test.param.name; });

TEST(DecidePending, NamesTheFirstOfTwo) {
  Life life;
  life.seen.duplicate_of = "web-1-first";
  life.tick();
  EXPECT_NE(life.status().message.find("web-1-first"), std::string::npos);
}

TEST(DecidePending, SaysWhichLimitItWaitsFor) {
  Life life;
  life.slot = Slot::State::kWaiting;
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPending);
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "WaitingNode");
  ASSERT_EQ(life.status().blocked_by.size(), 1u);
  EXPECT_EQ(life.status().blocked_by[0].kind, "Limit");
  EXPECT_EQ(life.status().blocked_by[0].since, kNoon);
  EXPECT_LE(*life.last.requeue.after, base::Duration(seconds(600)));
  life.advance(seconds(30));
  life.tick();
  EXPECT_EQ(life.status().blocked_by[0].since, kNoon) << "the same limit all along";
  life.slot = Slot::State::kGranted;
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
  EXPECT_TRUE(life.status().blocked_by.empty());
}

TEST(DecidePending, WaitsForApprovalWithoutLimitWhenSuspended) {
  Life life;
  life.spec().suspend = true;
  life.tick();
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "Paused");
  life.advance(seconds(86400));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPending);
  life.spec().suspend = false;
  life.slot = Slot::State::kWaiting;
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPending) << "its time starts when it is released";
  life.advance(seconds(600));
  life.tick();
  EXPECT_EQ(life.status().reason, "DecisionExpired");
}

TEST(DecidePending, AnExplicitDecisionTtlCountsWhileSuspended) {
  Life life;
  life.spec().suspend = true;
  life.spec().timeouts.decision_ttl = seconds(100);
  life.tick();
  EXPECT_EQ(life.condition_reason("Accepted"), "Valid");
  life.advance(seconds(100));
  life.tick();
  EXPECT_EQ(life.status().reason, "DecisionExpired");
  EXPECT_EQ(life.condition_reason("Accepted"), "DecisionExpired");
}

TEST(DecidePending, WritesNothingWhenNothingChanged) {
  Life life;
  life.slot = Slot::State::kWaiting;
  life.tick();
  life.advance(seconds(1));
  const auto before = life.status();
  life.tick();
  EXPECT_EQ(life.status(), before);
}

/// Evicts like eviction-api, but needs free capacity for a surge pod first.
class CapaciousEvictor final : public evictors::Evictor {
 public:
  explicit CapaciousEvictor(const evictors::Evictor& inner) : inner_(inner) {}
  std::string_view name() const override { return "needs-capacity"; }
  api::FieldErrors validate(const std::vector<std::pair<std::string, std::string>>&,
                            const api::FieldPath&) const override {
    return {};
  }
  evictors::Probe probe(const evictors::EvictorContext& context) const override { return inner_.probe(context); }
  evictors::EvictionStep plan(const evictors::EvictorContext& context) const override { return inner_.plan(context); }
  evictors::Observation observe(const evictors::EvictorContext& context) const override {
    return inner_.observe(context);
  }
  evictors::Classification classify(const evictors::EvictorContext& context, const evictors::Action& action,
                                    const evictors::CallResult& answer) const override {
    return inner_.classify(context, action, answer);
  }
  bool needs_capacity(const evictors::EvictorContext&) const override { return true; }
  std::vector<evictors::Action> undo(const evictors::EvictorContext&) const override { return {}; }
  evictors::Rollback undone(const evictors::EvictorContext&) const override { return evictors::Rollback::kNothingToDo; }
  std::vector<evictors::Action> cleanup(const evictors::EvictorContext&) const override { return {}; }

 private:
  const evictors::Evictor& inner_;
};

Life capacious() {
  Life life;
  life.registry().add(std::make_unique<CapaciousEvictor>(*life.registry().find("eviction-api")));
  life.spec().evictors = {{"needs-capacity", {}}};
  return life;
}

TEST(DecidePending, NamesTheLimitThatHoldsIt) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"total", "WaitingTotal"},
                                                                  {"node", "WaitingNode"},
                                                                  {"targetNode", "WaitingTargetNode"},
                                                                  {"policy web targetNode", "WaitingTargetNode"},
                                                                  {"policy node zone", "WaitingZone"},
                                                                  {"namespace", "WaitingNamespace"},
                                                                  {"workload", "WaitingWorkload"},
                                                                  {"policy web workload", "WaitingWorkload"},
                                                                  {"rate", "WaitingRate"},
                                                                  {"cooldown", "CoolingDown"}};
  for (const auto& [name, reason] : cases) {
    Life life;
    life.slot = Slot::State::kWaiting;
    life.limit = {"Limit", name, "is full", {}, {}, {}, {}};
    life.tick();
    EXPECT_EQ(life.condition_reason("SlotAcquired"), reason) << name;
  }
}

TEST(DecidePending, AsksForCapacityIfItsEvictorNeedsSome) {
  Life plain;
  plain.tick();
  EXPECT_FALSE(plain.asked_for_capacity);
  EXPECT_EQ(plain.condition_reason("SlotAcquired"), "Acquired");
  Life life = capacious();
  life.reserved_node = "node-b";
  life.tick();
  EXPECT_TRUE(life.asked_for_capacity);
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "CapacityReserved");
  EXPECT_EQ(life.status().target_node.value, "node-b");
  EXPECT_EQ(life.action(), "PostEviction");
}

TEST(DecidePending, WaitsForCapacityAndSaysWithWhichNumbers) {
  Life life = capacious();
  life.slot = Slot::State::kWaiting;
  life.limit = {"Capacity", "", "needs 3000m cpu", {}, {}, {}, {}};
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPending);
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "WaitingCapacity");
  ASSERT_EQ(life.status().blocked_by.size(), 1u);
  EXPECT_EQ(life.status().blocked_by[0].message, "needs 3000m cpu");
}

TEST(DecidePending, IsCancelledWhenItsPlanHasNoCapacityLeft) {
  Life life;
  life.seen.no_destination = "no node has enough free capacity any more";
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kCancelled);
  EXPECT_EQ(life.status().reason, "DecisionExpired");
  EXPECT_EQ(life.status().message, "no node has enough free capacity any more");
  EXPECT_EQ(life.action(), "");
}

}  // namespace evacuation_pending_test
