#include "controllers/room.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "test/builders/cluster.hpp"

namespace room_test {

using builders::NodeBuilder;
using builders::PodBuilder;
using controllers::AdmissionQueue;
using controllers::RoomKeeper;
using controllers::Slot;
using testing::HasSubstr;
using Phase = api::EvacuationPhase;

const base::TimePoint kStart = builders::kNoon;

/// Three nodes of 4 cpu. Pods of 3 cpu: one on each node fills it, for a second copy there is room on the third only.
class Room : public testing::Test {
 protected:
  Room() {
    for (const char* name : {"n1", "n2", "n3"}) add(NodeBuilder(name));
  }

  void add(const NodeBuilder& node) { nodes.push_back(std::make_shared<const api::Node>(node.build())); }
  std::shared_ptr<const api::Pod> add(const PodBuilder& pod) {
    return pods.emplace_back(std::make_shared<const api::Pod>(pod.build()));
  }
  std::shared_ptr<const api::Pod> vm(const std::string& name, const std::string& node, std::int64_t cpu = 3000) {
    return add(PodBuilder(name).on(node).cpu(cpu).owned_by("VirtualMachineInstance", name));
  }
  void remove(const std::string& name) {
    std::erase_if(pods, [&](const auto& pod) { return pod->meta.name == name; });
  }

  static api::Evacuation evacuation_of(const api::Pod& pod, Phase phase = Phase::kPending,
                                       const std::string& room = "") {
    api::Evacuation evacuation;
    evacuation.meta.ns = pod.meta.ns;
    evacuation.meta.name = "evac-" + pod.meta.name;
    evacuation.meta.uid = "uid-evac-" + pod.meta.name;
    evacuation.spec.pod_ref = {pod.meta.name, pod.uid()};
    evacuation.spec.node_name = pod.node_name;
    evacuation.status.phase = phase;
    if (phase == Phase::kPending) return evacuation;
    evacuation.status.attempt = 1;
    evacuation.status.attempt_started_at = kStart;
    evacuation.status.target_node = {room};
    evacuation.status.conditions = {
        {"SlotAcquired", api::ConditionStatus::kTrue, std::string(controllers::kRoomReserved), "", 0, {}}};
    return evacuation;
  }
  void show(const api::Pod& pod, Phase phase, const std::string& room = "") {
    const auto now = evacuation_of(pod, phase, room);
    keeper().observe(nullptr, &now);
  }

  RoomKeeper& keeper() {
    if (!keeper_) restart();
    return *keeper_;
  }
  void restart() {
    keeper_ = std::make_unique<RoomKeeper>(
        [this] {
          ++snapshots;
          scheduling::SnapshotInput input;
          input.pods = pods;
          input.nodes = nodes;
          return input;
        },
        clock, [this](const api::ObjectKey& key, base::Duration) { woken.push_back(key.name); });
  }
  /// A second after the last question: the cluster is looked at anew.
  std::string reserve(const std::shared_ptr<const api::Pod>& pod, const std::string& target = "",
                      const std::set<std::string>& not_on = {}) {
    clock.advance(base::seconds(1));
    auto request = controllers::admission_request(evacuation_of(*pod), pod.get(), std::nullopt);
    request.target_node = target;
    last = keeper().reserve({request, pod}, not_on);
    return last.node;
  }
  static api::ObjectKey key(const api::Pod& pod) { return evacuation_of(pod).meta.key(); }

  scheduling::SnapshotInput::List<api::Pod> pods;
  scheduling::SnapshotInput::List<api::Node> nodes;
  base::ManualClock clock{kStart};
  std::vector<std::string> woken;
  int snapshots = 0;
  RoomKeeper::Answer last;

 private:
  std::unique_ptr<RoomKeeper> keeper_;
};

TEST_F(Room, IsHeldForOneOfTwoThatWantTheSame) {
  const auto a = vm("a", "n1");
  const auto b = vm("b", "n2");
  EXPECT_EQ(reserve(a), "n3");
  EXPECT_EQ(reserve(b), "");
  EXPECT_EQ(
      last.message,
      "needs 3000m cpu and 0Mi memory for a second copy, and none of 2 other nodes has it: 2 InsufficientResource");
  EXPECT_EQ(reserve(a), "n3") << "asking again changes nothing";
  EXPECT_EQ(keeper().held(), 1U);
}

TEST_F(Room, IsNeverOnThePodsOwnNode) {
  const auto a = vm("a", "n1", 1000);
  nodes.resize(1);
  EXPECT_EQ(reserve(a), "");
  EXPECT_THAT(last.message, HasSubstr("none of 0 other nodes has it"));
}

TEST_F(Room, IsWhereThePlannerExpectsItElseWhereMostIsLeft) {
  const auto a = vm("a", "n1", 1000);
  vm("b", "n2", 2000);
  EXPECT_EQ(reserve(a, "n2"), "n2");
  keeper().release_unused(key(*a));
  EXPECT_EQ(reserve(a), "n3");
  keeper().release_unused(key(*a));
  EXPECT_EQ(reserve(a, "n3", {"n3"}), "n2") << "the target node's limit is full there";
}

TEST_F(Room, KeepsTheSchedulersRules) {
  nodes.clear();
  add(NodeBuilder("n1"));
  add(NodeBuilder("n2").cordoned());
  add(NodeBuilder("n3").taint("special"));
  add(NodeBuilder("n4").not_ready());
  const auto a = vm("a", "n1", 100);
  EXPECT_EQ(reserve(a), "");
  EXPECT_THAT(last.message, HasSubstr("none of 3 other nodes has it: 1 "));
}

TEST_F(Room, RespectsWhatTheCopyWouldStandBeside) {
  const auto a = add(PodBuilder("a").on("n1").label("app", "db").anti_affinity("app", "db", "kubernetes.io/hostname"));
  add(PodBuilder("b").on("n2").label("app", "db"));
  EXPECT_EQ(reserve(a), "n3");
  const auto b = pods.back();
  EXPECT_EQ(reserve(b), "") << "the copy that is to come stands on n3 already";
}

TEST_F(Room, IsGivenBackWhenTheAttemptEnds) {
  const auto a = vm("a", "n1");
  const auto b = vm("b", "n2");
  EXPECT_EQ(reserve(a), "n3");
  EXPECT_EQ(reserve(b), "");
  show(*a, Phase::kInProgress, "n3");
  keeper().release_unused(key(*a));
  EXPECT_EQ(reserve(b), "") << "it is in use";
  show(*a, Phase::kFailed);
  EXPECT_EQ(woken, std::vector<std::string>{"evac-b"});
  EXPECT_EQ(reserve(b), "n3");
}

TEST_F(Room, OldEventsTakeNothingBack) {
  const auto a = vm("a", "n1");
  EXPECT_EQ(reserve(a), "n2");
  show(*a, Phase::kPending);
  EXPECT_EQ(keeper().held(), 1U);
  const auto gone = evacuation_of(*a);
  keeper().observe(&gone, nullptr);
  EXPECT_EQ(keeper().held(), 0U);
}

TEST_F(Room, TheRealCopyTakesThePlaceOfThePromise) {
  const auto a = vm("a", "n1", 1500);
  const auto b = vm("b", "n2", 1500);
  nodes.resize(3);
  vm("ballast-1", "n1", 2500);
  vm("ballast-2", "n2", 2500);
  EXPECT_EQ(reserve(a), "n3");
  show(*a, Phase::kInProgress, "n3");
  add(PodBuilder("a-copy").on("n3").cpu(1500).owned_by("VirtualMachineInstance", "a").older_by(base::seconds(-1)));
  EXPECT_EQ(reserve(b), "n3") << "3 of 4 cpu, not 4.5";
}

TEST_F(Room, FollowsTheRealTarget) {
  const auto a = vm("a", "n1");
  const auto b = vm("b", "n1", 500);
  EXPECT_EQ(reserve(a, "n3"), "n3");
  show(*a, Phase::kInProgress, "n2");
  EXPECT_EQ(reserve(b, "n3"), "n3");
  const auto c = vm("c", "n3");
  EXPECT_EQ(reserve(c), "") << "n2 is taken now";
}

TEST_F(Room, IsHeldAcrossAChangeOfTheLeader) {
  const auto a = vm("a", "n1");
  const auto b = vm("b", "n2");
  EXPECT_EQ(reserve(a), "n3");
  restart();
  show(*a, Phase::kInProgress, "n3");
  EXPECT_EQ(reserve(b), "");
  show(*a, Phase::kSucceeded);
  remove("a");
  clock.advance(base::seconds(10));
  EXPECT_EQ(reserve(b), "n1") << "and what left is free";
}

TEST_F(Room, LooksAtTheClusterOnceASecond) {
  const auto a = vm("a", "n1", 100);
  const auto b = vm("b", "n2", 100);
  EXPECT_NE(reserve(a), "");
  clock.advance(base::milliseconds(200));
  auto request = controllers::admission_request(evacuation_of(*b), b.get(), std::nullopt);
  const auto answer = keeper().reserve({request, b});
  EXPECT_EQ(answer.node, "");
  EXPECT_EQ(answer.retry_at, kStart + base::seconds(2));
  EXPECT_EQ(snapshots, 1);
  EXPECT_NE(reserve(b), "");
  EXPECT_EQ(snapshots, 2);
}

TEST_F(Room, WhoGetsNoneGivesItsSlotBack) {
  AdmissionQueue line({{.total = api::IntOrPercent{1, false}, .per_node = {}, .per_namespace = {}, .per_workload = {}}},
                      clock, {});
  const auto a = vm("a", "n1");
  const auto b = vm("b", "n2");
  const auto ask = [&](const std::shared_ptr<const api::Pod>& pod) {
    clock.advance(base::seconds(1));
    return controllers::ask_for_slot(line, &keeper(),
                                     controllers::admission_request(evacuation_of(*pod), pod.get(), std::nullopt), pod);
  };
  vm("c", "n3");
  const auto refused = ask(a);
  EXPECT_EQ(refused.slot.state, Slot::State::kWaiting);
  EXPECT_EQ(refused.slot.limit->kind, "Room");
  EXPECT_EQ(line.usage().in_flight, 0);
  remove("c");
  const auto granted = ask(b);
  EXPECT_EQ(granted.slot.state, Slot::State::kGranted);
  EXPECT_EQ(granted.slot.room_on, "n3");
  EXPECT_EQ(line.usage().in_flight, 1);
}

TEST_F(Room, RespectsTheLimitPerTargetNode) {
  AdmissionQueue line({{.total = {},
                        .per_node = {},
                        .per_namespace = {},
                        .per_workload = {},
                        .per_target_node = api::IntOrPercent{1, false}}},
                      clock, {});
  std::map<std::string, int> on;
  for (int i = 0; i < 4; ++i) {
    const auto pod = vm("vm-" + std::to_string(i), "n1", 100);
    clock.advance(base::seconds(1));
    const auto got = controllers::ask_for_slot(
        line, &keeper(), controllers::admission_request(evacuation_of(*pod), pod.get(), std::nullopt), pod);
    if (got.slot.state == Slot::State::kGranted) {
      ++on[got.slot.room_on];
    } else {
      EXPECT_THAT(got.slot.limit->message, HasSubstr("2 TargetNodeLimit"));
    }
  }
  EXPECT_EQ(on, (std::map<std::string, int>{{"n2", 1}, {"n3", 1}}));
}

/// Whatever comes, dies and restarts: pods, their copies and what is promised never ask more of a node than it has.
TEST_F(Room, IsNeverPromisedTwiceWhateverHappens) {
  std::mt19937 random(5);
  for (int i = 0; i < 9; ++i) vm("vm-" + std::to_string(i), "n" + std::to_string(i % 3 + 1), 700 + 50 * (i % 4));
  const auto originals = pods;
  std::map<std::string, std::string> stored;  ///< pod → node of its copy
  for (int step = 0; step < 3'000; ++step) {
    const auto& pod = originals[random() % originals.size()];
    const std::string& name = pod->meta.name;
    if (random() % 50 == 0) {
      restart();
      for (const auto& each : originals) {
        if (stored.contains(each->meta.name)) show(*each, Phase::kInProgress, stored.at(each->meta.name));
      }
    } else if (!stored.contains(name)) {
      const std::string node = reserve(pod);
      if (node.empty()) continue;
      if (random() % 4 == 0) {
        keeper().release_unused(key(*pod));
      } else {
        show(*pod, Phase::kInProgress, stored[name] = node);
      }
    } else if (random() % 2) {
      stored.erase(name);
      show(*pod, Phase::kBackoff);
    }
    std::map<std::string, std::int64_t> cpu;
    for (const auto& each : originals) {
      const std::int64_t asks = each->containers[0].requests[0].second.milli();
      cpu[each->node_name.value] += asks;
      if (stored.contains(each->meta.name)) cpu[stored.at(each->meta.name)] += asks;
    }
    for (const auto& [node, used] : cpu) ASSERT_LE(used, 4000) << node << " at step " << step;
  }
}

}  // namespace room_test
