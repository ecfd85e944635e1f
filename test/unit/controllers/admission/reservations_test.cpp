#include "controllers/admission/reservations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "test/builders/cluster.hpp"

namespace capacity_test {

using builders::NodeBuilder;
using builders::PodBuilder;
using controllers::AdmissionQueue;
using controllers::Reservations;
using controllers::Slot;
using testing::AllOf;
using testing::HasSubstr;
using Phase = api::EvacuationPhase;

const base::TimePoint kStart = builders::kNoon;

/// Three nodes of 4 CPUs with pods of 3 CPUs. One pod on each of two nodes leaves capacity for a surge pod on the third
/// node only.
class Capacity : public testing::Test {
 protected:
  Capacity() {
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
                                       const std::string& capacity = "") {
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
    evacuation.status.target_node = {capacity};
    evacuation.status.conditions = {{"SlotAcquired", api::ConditionStatus::kTrue, "CapacityReserved", "", 0, {}}};
    return evacuation;
  }
  void show(const api::Pod& pod, Phase phase, const std::string& capacity = "") {
    const auto now = evacuation_of(pod, phase, capacity);
    reservations().observe(nullptr, &now);
  }

  Reservations& reservations() {
    if (!reservations_) restart();
    return *reservations_;
  }
  void restart() {
    reservations_ = std::make_unique<Reservations>(
        [this] {
          ++snapshots;
          scheduling::SnapshotInput input;
          input.pods = pods;
          input.nodes = nodes;
          return input;
        },
        clock, [this](const api::ObjectKey& key, base::Duration) { woken.push_back(key.name); });
  }
  /// Advances the clock by one second first, so that a new snapshot is taken. Returns the reserved node, empty if none.
  std::string reserve(const std::shared_ptr<const api::Pod>& pod, const std::string& target = "",
                      const std::set<std::string>& not_on = {}) {
    clock.advance(base::seconds(1));
    auto request = controllers::admission_request(evacuation_of(*pod), pod.get(), std::nullopt);
    request.target_node = target;
    last = reservations().reserve({request, copy_of(pod)}, not_on);
    return last.node;
  }
  /// Returns the surge pod with the current pods of its controller as siblings.
  controllers::SurgePod copy_of(const std::shared_ptr<const api::Pod>& pod) const {
    controllers::SurgePod copy{pod};
    for (const auto& each : pods)
      if (each->meta.controller()->uid == pod->meta.controller()->uid) copy.siblings.insert(each->meta.uid);
    return copy;
  }
  static api::ObjectKey key(const api::Pod& pod) { return evacuation_of(pod).meta.key(); }

  scheduling::SnapshotInput::List<api::Pod> pods;
  scheduling::SnapshotInput::List<api::Node> nodes;
  base::ManualClock clock{kStart};
  std::vector<std::string> woken;
  int snapshots = 0;
  Reservations::Outcome last;

 private:
  std::unique_ptr<Reservations> reservations_;
};

// --- replacements of pods on emptied nodes

class KeptPlace : public Capacity {
 protected:
  /// Returns an empty string if the pod fits on a node other than its own and `emptied`, else the message. Advances the
  /// clock by one second first, so that a new snapshot is taken.
  std::string keep(const std::shared_ptr<const api::Pod>& pod, const std::set<std::string>& emptied) {
    clock.advance(base::seconds(1));
    const auto request = controllers::admission_request(evacuation_of(*pod), pod.get(), std::nullopt);
    return reservations().hold_place(request, *pod, emptied);
  }
  std::shared_ptr<const api::Pod> web(const std::string& name, const std::string& node, std::int64_t cpu = 3000) {
    return add(PodBuilder(name).on(node).cpu(cpu));
  }
};

TEST_F(KeptPlace, IsNeverOnAnEmptiedNode) {
  const auto a = web("a", "n1");
  EXPECT_EQ(keep(a, {"n1", "n2"}), "");
  EXPECT_THAT(keep(a, {"n1", "n2", "n3"}), HasSubstr("no node has enough free capacity any more"));
}

TEST_F(KeptPlace, IsHeldForOneOfTwoThatWantTheSame) {
  const auto a = web("a", "n1");
  const auto b = web("b", "n2");
  EXPECT_EQ(keep(a, {"n1", "n2"}), "");
  EXPECT_THAT(keep(b, {"n1", "n2"}), HasSubstr("the 2 that the plan empties"));
  EXPECT_EQ(keep(a, {"n1", "n2"}), "") << "asked again, it keeps its own place";
  reservations().release_unused(key(*a));
  EXPECT_EQ(keep(b, {"n1", "n2"}), "");
}

TEST_F(KeptPlace, IsReleasedWhenTheEvacuationEnds) {
  const auto a = web("a", "n1");
  const auto b = web("b", "n2");
  EXPECT_EQ(keep(a, {"n1", "n2"}), "");
  show(*a, Phase::kSucceeded);
  EXPECT_EQ(keep(b, {"n1", "n2"}), "");
}

/// A replacement takes time to be created, scheduled and bound. Its capacity stays reserved until then.
TEST_F(KeptPlace, IsHeldBetweenThePodsEndAndTheBindingOfItsReplacement) {
  const auto a = vm("a", "n1");
  const auto b = vm("b", "n2");
  const std::set<std::string> emptied{"n1", "n2"};
  EXPECT_EQ(keep(a, emptied), "");
  remove("a");
  EXPECT_THAT(keep(b, emptied), HasSubstr("no node has enough free capacity")) << "nothing of it is there";
  add(PodBuilder("a-2").cpu(3000).owned_by("VirtualMachineInstance", "a"));
  EXPECT_THAT(keep(b, emptied), HasSubstr("no node has enough free capacity")) << "it is Pending";
  remove("a-2");
  add(PodBuilder("a-2").on("n1").cpu(3000).owned_by("VirtualMachineInstance", "a"));
  EXPECT_EQ(keep(b, emptied), "") << "it went elsewhere";
}

TEST_F(KeptPlace, IsAlsoReservedForAnEndedPod) {
  const auto a = vm("a", "n1");
  const auto b = vm("b", "n2");
  EXPECT_EQ(keep(a, {"n1", "n2"}), "");
  remove("a");
  add(PodBuilder("a").on("n1").cpu(3000).owned_by("VirtualMachineInstance", "a").phase(api::PodPhase::kFailed));
  EXPECT_THAT(keep(b, {"n1", "n2"}), HasSubstr("no node has enough free capacity"));
}

TEST_F(KeptPlace, SeesPodsThatArrivedMeanwhile) {
  const auto a = web("a", "n1");
  EXPECT_EQ(keep(a, {"n1", "n2"}), "");
  web("greedy", "n3");
  EXPECT_NE(keep(a, {"n1", "n2"}), "");
}

TEST_F(KeptPlace, OfASurgePodIsOnNoEmptiedNodeEither) {
  const auto a = vm("a", "n1");
  const auto request = controllers::admission_request(evacuation_of(*a), a.get(), std::nullopt);
  EXPECT_EQ(reservations().reserve({request, copy_of(a), {"n1", "n2"}}).node, "n3");
  reservations().release_unused(key(*a));
  clock.advance(base::seconds(1));
  const auto none = reservations().reserve({request, copy_of(a), {"n1", "n2", "n3"}});
  EXPECT_EQ(none.node, "");
  EXPECT_THAT(none.message, HasSubstr("2 NodeTakesNoPods"));
}

TEST_F(KeptPlace, IgnoresAPodThatTheCachesDoNotShow) {
  const auto a = web("a", "n1");
  remove("a");
  EXPECT_EQ(keep(a, {"n1", "n2", "n3"}), "");
}

TEST_F(Capacity, IsHeldForOneOfTwoThatWantTheSame) {
  const auto a = vm("a", "n1");
  const auto b = vm("b", "n2");
  EXPECT_EQ(reserve(a), "n3");
  EXPECT_EQ(reserve(b), "");
  EXPECT_EQ(last.message,
            "needs 3000m cpu and 0Mi memory for a surge pod, and none of 2 other nodes has enough free capacity: 2 "
            "InsufficientResource");
  EXPECT_EQ(reserve(a), "n3") << "asking again changes nothing";
  EXPECT_EQ(reservations().held(), 1U);
}

TEST_F(Capacity, IsNeverOnThePodsOwnNode) {
  const auto a = vm("a", "n1", 1000);
  nodes.resize(1);
  EXPECT_EQ(reserve(a), "");
  EXPECT_THAT(last.message, HasSubstr("none of 0 other nodes has enough free capacity"));
}

TEST_F(Capacity, PrefersThePlannersNodeElseTheEmptiest) {
  const auto a = vm("a", "n1", 1000);
  vm("b", "n2", 2000);
  EXPECT_EQ(reserve(a, "n2"), "n2");
  reservations().release_unused(key(*a));
  EXPECT_EQ(reserve(a), "n3");
  reservations().release_unused(key(*a));
  EXPECT_EQ(reserve(a, "n3", {"n3"}), "n2") << "the target node's limit is full there";
}

TEST_F(Capacity, KeepsTheSchedulersRules) {
  nodes.clear();
  add(NodeBuilder("n1"));
  add(NodeBuilder("n2").cordoned());
  add(NodeBuilder("n3").taint("special"));
  add(NodeBuilder("n4").not_ready());
  const auto a = vm("a", "n1", 100);
  EXPECT_EQ(reserve(a), "");
  EXPECT_THAT(last.message, HasSubstr("none of 3 other nodes has enough free capacity: 1 "));
}

TEST_F(Capacity, RespectsAntiAffinityOfTheSurgePod) {
  const auto a = add(PodBuilder("a").on("n1").label("app", "db").anti_affinity("app", "db", "kubernetes.io/hostname"));
  add(PodBuilder("b").on("n2").label("app", "db"));
  EXPECT_EQ(reserve(a), "n3");
  const auto b = pods.back();
  EXPECT_EQ(reserve(b), "") << "the copy that is to come stands on n3 already";
}

TEST_F(Capacity, IsReleasedWhenTheAttemptEnds) {
  const auto a = vm("a", "n1");
  const auto b = vm("b", "n2");
  EXPECT_EQ(reserve(a), "n3");
  EXPECT_EQ(reserve(b), "");
  show(*a, Phase::kInProgress, "n3");
  reservations().release_unused(key(*a));
  EXPECT_EQ(reserve(b), "") << "it is in use";
  show(*a, Phase::kFailed);
  EXPECT_EQ(woken, std::vector<std::string>{"evac-b"});
  EXPECT_EQ(reserve(b), "n3");
}

TEST_F(Capacity, OldEventsReleaseNothing) {
  const auto a = vm("a", "n1");
  EXPECT_EQ(reserve(a), "n2");
  show(*a, Phase::kPending);
  EXPECT_EQ(reservations().held(), 1U);
  const auto gone = evacuation_of(*a);
  reservations().observe(&gone, nullptr);
  EXPECT_EQ(reservations().held(), 0U);
}

TEST_F(Capacity, TheActualSurgePodReplacesTheReservation) {
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

/// The clocks of the operator and of the API server may differ by any amount.
TEST_F(Capacity, TheSurgePodIsRecognizedByUidNotByAge) {
  const auto a = vm("a", "n1", 2000);
  const auto b = vm("b", "n2", 2000);
  vm("ballast-1", "n1", 2500);
  vm("ballast-2", "n2", 2500);
  add(PodBuilder("old").on("n3").cpu(100).owned_by("VirtualMachineInstance", "a").older_by(base::seconds(-600)));
  EXPECT_EQ(reserve(a), "n3");
  EXPECT_EQ(reserve(b), "") << "what was there before is not the copy, however young it says it is";
  remove("old");
  add(PodBuilder("a-copy").on("n3").cpu(2000).owned_by("VirtualMachineInstance", "a").older_by(base::seconds(3600)));
  clock.advance(base::seconds(10));
  EXPECT_EQ(reserve(b), "n3") << "what came since is, however old it says it is";
}

/// For a reservation made by another leader, the set of pods that existed at that time is unknown.
TEST_F(Capacity, ForAnotherLeadersReservationOnlyAPodOnItsNodeIsTheSurgePod) {
  const auto a = vm("a", "n1", 2000);
  const auto b = vm("b", "n2", 2000);
  vm("ballast-1", "n1", 2500);
  vm("ballast-2", "n2", 2500);
  auto stored = evacuation_of(*a, Phase::kInProgress, "n3");
  stored.meta.creation_timestamp = kStart - base::seconds(60);
  stored.status.attempt_started_at = kStart + base::seconds(600);  // by a clock that is off
  reservations().observe(nullptr, &stored);
  add(PodBuilder("older").on("n3").cpu(100).owned_by("VirtualMachineInstance", "a").older_by(base::seconds(61)));
  EXPECT_EQ(reserve(b), "") << "it was there before anybody wanted the pod to go";
  remove("older");
  add(PodBuilder("copy").on("n3").cpu(2000).owned_by("VirtualMachineInstance", "a").older_by(base::seconds(30)));
  clock.advance(base::seconds(10));
  EXPECT_EQ(reserve(b), "n3");
}

TEST_F(Capacity, FollowsTheRealTarget) {
  const auto a = vm("a", "n1");
  const auto b = vm("b", "n1", 500);
  EXPECT_EQ(reserve(a, "n3"), "n3");
  show(*a, Phase::kInProgress, "n2");
  EXPECT_EQ(reserve(b, "n3"), "n3");
  const auto c = vm("c", "n3");
  EXPECT_EQ(reserve(c), "") << "n2 is taken now";
}

TEST_F(Capacity, IsHeldAcrossAChangeOfTheLeader) {
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

TEST_F(Capacity, LooksAtTheClusterOnceASecond) {
  const auto a = vm("a", "n1", 100);
  const auto b = vm("b", "n2", 100);
  EXPECT_NE(reserve(a), "");
  clock.advance(base::milliseconds(200));
  auto request = controllers::admission_request(evacuation_of(*b), b.get(), std::nullopt);
  const auto answer = reservations().reserve({request, copy_of(b)});
  EXPECT_EQ(answer.node, "");
  EXPECT_EQ(answer.retry_at, kStart + base::seconds(2));
  EXPECT_EQ(snapshots, 1);
  EXPECT_NE(reserve(b), "");
  EXPECT_EQ(snapshots, 2);
}

TEST_F(Capacity, WithoutCapacityTheSlotIsReleased) {
  AdmissionQueue queue(
      {{.total = api::IntOrPercent{1, false}, .per_node = {}, .per_namespace = {}, .per_workload = {}}}, clock, {});
  const auto a = vm("a", "n1");
  const auto b = vm("b", "n2");
  const auto ask = [&](const std::shared_ptr<const api::Pod>& pod) {
    clock.advance(base::seconds(1));
    return controllers::request_with_capacity(
        queue, reservations(),
        {controllers::admission_request(evacuation_of(*pod), pod.get(), std::nullopt), copy_of(pod)});
  };
  vm("c", "n3");
  const auto refused = ask(a);
  EXPECT_EQ(refused.slot.state, Slot::State::kWaiting);
  EXPECT_EQ(refused.slot.limit->kind, "Capacity");
  EXPECT_EQ(queue.usage().in_flight, 0);
  remove("c");
  const auto granted = ask(b);
  EXPECT_EQ(granted.slot.state, Slot::State::kGranted);
  EXPECT_EQ(granted.slot.reserved_node, "n3");
  EXPECT_EQ(queue.usage().in_flight, 1);
}

TEST_F(Capacity, RespectsTheLimitPerTargetNode) {
  AdmissionQueue queue({{.total = {},
                         .per_node = {},
                         .per_namespace = {},
                         .per_workload = {},
                         .per_target_node = api::IntOrPercent{1, false}}},
                       clock, {});
  std::map<std::string, int> on;
  for (int i = 0; i < 4; ++i) {
    const auto pod = vm("vm-" + std::to_string(i), "n1", 100);
    clock.advance(base::seconds(1));
    const auto got = controllers::request_with_capacity(
        queue, reservations(),
        {controllers::admission_request(evacuation_of(*pod), pod.get(), std::nullopt), copy_of(pod)});
    if (got.slot.state == Slot::State::kGranted) {
      ++on[got.slot.reserved_node];
    } else {
      EXPECT_THAT(got.slot.limit->message, HasSubstr("2 TargetNodeLimit"));
    }
  }
  EXPECT_EQ(on, (std::map<std::string, int>{{"n2", 1}, {"n3", 1}}));
}

/// Six nodes of 4 CPUs. Two VMs of each PodGroup fill four nodes, and each of the other two nodes has capacity for one
/// surge pod.
class PodGroupCapacity : public Capacity {
 protected:
  PodGroupCapacity()
      : queue(limits_of_targets(), clock,
              [this](const api::ObjectKey& key, base::Duration) { let_in.insert(key.name); }) {
    for (const char* name : {"n4", "n5", "n6"}) add(NodeBuilder(name));
    for (const char* name : {"a1", "a2", "b1", "b2"}) {
      members[name] = vm(name, "n" + std::to_string(members.size() + 1));
    }
    queue.use_reservations(reservations());
  }

  static api::AdmissionLimits limits_of_targets() {
    api::AdmissionLimits limits;
    limits.in_flight.per_target_node = api::IntOrPercent{1, false};
    return limits;
  }
  controllers::AdmissionRequest request_of(const std::string& name) {
    const auto& pod = members.at(name);
    auto request = controllers::admission_request(evacuation_of(*pod), pod.get(), std::nullopt);
    request.workload.clear();
    const std::string pod_group(1, name[0]);
    request.pod_group = "default/" + pod_group;
    for (const auto& [other, each] : members)
      if (other != name && other.starts_with(pod_group)) request.together.push_back(key(*each));
    request.surge_pod = copy_of(pod);
    return request;
  }
  /// Requests slot and free capacity in one step, like the reconciler, then the member's own node.
  Slot ask(const std::string& name) {
    clock.advance(base::seconds(1));
    auto granted = queue.request(request_of(name));
    if (granted.slot.state != Slot::State::kGranted) return granted.slot;
    return controllers::request_with_capacity(queue, reservations(), {request_of(name), copy_of(members.at(name))})
        .slot;
  }

  std::map<std::string, std::shared_ptr<const api::Pod>> members;
  std::set<std::string> let_in;
  AdmissionQueue queue;
};

TEST_F(PodGroupCapacity, IsForAllOrForNoneSoNoTwoStarveEachOther) {
  EXPECT_EQ(ask("a1").state, Slot::State::kWaiting);
  EXPECT_EQ(ask("b1").state, Slot::State::kWaiting);
  EXPECT_EQ(reservations().held(), 0U) << "nobody holds half";
  const Slot last_of_b = ask("b2");
  EXPECT_EQ(last_of_b.state, Slot::State::kGranted);
  EXPECT_TRUE(let_in.contains("evac-b1"));
  EXPECT_EQ((std::set<std::string>{last_of_b.reserved_node, ask("b1").reserved_node}),
            (std::set<std::string>{"n5", "n6"}));
  const Slot refused = ask("a2");
  ASSERT_TRUE(refused.limit);
  EXPECT_EQ(refused.limit->kind, "Capacity");
  EXPECT_THAT(refused.limit->message,
              AllOf(HasSubstr("all members of its PodGroup or none: pod a"), HasSubstr("needs 3000m cpu")));
  EXPECT_EQ(ask("a1").limit->kind, "Capacity") << "the other one says the same";
  EXPECT_EQ(reservations().held(), 2U);
  EXPECT_EQ(queue.usage().in_flight, 2);
}

TEST_F(PodGroupCapacity, ThatIsEnoughForHalfIsLeftToOthers) {
  vm("ballast", "n5");
  EXPECT_EQ(ask("a1").state, Slot::State::kWaiting);
  EXPECT_EQ(ask("a2").limit->kind, "Capacity");
  EXPECT_EQ(reservations().held(), 0U);
  EXPECT_EQ(queue.usage().in_flight, 0);
  EXPECT_EQ(reserve(vm("single", "n1")), "n6") << "n6 was tried and taken back";
}

TEST_F(PodGroupCapacity, IsRetriedForAllWhenSomeIsReleased) {
  const auto single = vm("single", "n1");
  EXPECT_NE(reserve(single), "");
  EXPECT_EQ(ask("a1").state, Slot::State::kWaiting);
  EXPECT_EQ(ask("a2").limit->kind, "Capacity");
  show(*single, Phase::kInProgress, "n5");
  show(*single, Phase::kFailed);
  remove("single");
  ASSERT_EQ(woken.size(), 1U) << "one of them asks for all";
  EXPECT_EQ(ask(woken[0].substr(5)).state, Slot::State::kGranted);
  EXPECT_EQ(reservations().held(), 2U);
}

TEST_F(PodGroupCapacity, IsOnNodesWithCapacityForOneMore) {
  members.clear();
  pods.clear();
  members["a1"] = vm("a1", "n1", 100);
  members["a2"] = vm("a2", "n1", 100);
  ask("a1");
  const Slot second = ask("a2");
  const Slot first = ask("a1");
  ASSERT_EQ(second.state, Slot::State::kGranted);
  EXPECT_NE(first.reserved_node, second.reserved_node) << "one at a time on each target node";
}

TEST_F(PodGroupCapacity, IsLookedForWhereTheBigOnesFit) {
  members.clear();
  pods.clear();
  members["a1"] = vm("a1", "n1", 1000);
  members["a2"] = vm("a2", "n1", 3500);
  for (const char* node : {"n2", "n3", "n4"}) vm(std::string("full-") + node, node, 4000);
  vm("half", "n5", 2000);
  ask("a1");
  EXPECT_EQ(ask("a2").reserved_node, "n6") << "the small one did not take the only node for the big one";
  EXPECT_EQ(ask("a1").reserved_node, "n5");
}

/// Property: whatever events, crashes and restarts happen, pods, surge pods and reservations together never exceed the
/// capacity of a node.
TEST_F(Capacity, IsNeverReservedTwiceWhateverHappens) {
  std::mt19937 random(5);
  for (int i = 0; i < 9; ++i) vm("vm-" + std::to_string(i), "n" + std::to_string(i % 3 + 1), 700 + 50 * (i % 4));
  const auto originals = pods;
  std::map<std::string, std::string> stored;  ///< pod → node of its surge pod
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
        reservations().release_unused(key(*pod));
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

}  // namespace capacity_test

namespace reservations_test {

class Reservations : public capacity_test::Capacity {};

/// A relist reports the deletion of one Evacuation and the creation of another with the same name as one update.
TEST_F(Reservations, ARecreatedEvacuationHasNoReservation) {
  using Phase = api::EvacuationPhase;
  for (const Phase phase : {Phase::kPending, Phase::kPreparing}) {
    const auto a = vm("a", "n1");
    const auto b = vm("b", "n2");
    ASSERT_EQ(reserve(a), "n3");
    const api::Evacuation before = evacuation_of(*a, phase, "n3");
    api::Evacuation after = evacuation_of(*a);
    after.meta.uid = "another";
    reservations().observe(nullptr, &before);
    reservations().observe(&before, &after);
    EXPECT_EQ(reservations().held(), 0U);
    EXPECT_EQ(reserve(b), "n3");
    pods.clear();
    restart();
  }
}

}  // namespace reservations_test
