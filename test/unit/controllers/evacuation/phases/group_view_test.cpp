#include "controllers/evacuation/phases/group_view.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controllers/admission/queue.hpp"
#include "controllers/evacuation/group_lookup.hpp"
#include "controllers/evacuation/reconciler.hpp"
#include "test/unit/controllers/evacuation/phases/life.hpp"

/// PodGroups in the Evacuation controller: which member waits for which, and all-or-none admission
/// (docs/concepts/pod-groups.md).
namespace pod_group_test {

using namespace evacuation_test;
using base::seconds;
using controllers::AdmissionQueue;
using controllers::AdmissionRequest;
using controllers::evacuation::PodGroupMember;
using Phase = EvacuationPhase;

// --- one Evacuation and its PodGroup

struct Mate {
  std::string name = "mate";
  Phase phase = Phase::kPending;
  std::string vote{};  ///< reason of GroupReady
  std::int32_t order = 0;
  bool live = true;
  bool suspend = false;
  bool cancel = false;
  bool requested = true;
  bool deleted = false;  ///< requested at the admission of the PodGroup, deleted since
};

PodGroupMember member(const Mate& mate) {
  PodGroupMember made{mate.name, "uid-of-" + mate.name, mate.order, nullptr, nullptr};
  if (mate.live) made.live = std::make_shared<const api::Pod>(make_pod({}, made.uid, mate.name));
  made.was_asked = mate.requested || mate.deleted;
  if (!mate.requested || mate.deleted) return made;
  api::Evacuation evacuation = make_evacuation();
  evacuation.meta.name = mate.name + "-evac";
  evacuation.spec.pod_ref = {mate.name, {made.uid}};
  evacuation.spec.suspend = mate.suspend;
  evacuation.spec.cancel.requested = mate.cancel;
  evacuation.status.phase = mate.phase;
  evacuation.status.reason = api::is_terminal(mate.phase) ? "NotEvictable" : "";
  if (mate.phase != Phase::kPending) evacuation.status.attempt = 1;
  if (!mate.vote.empty()) {
    const bool yes = mate.vote == "Prepared" || mate.vote == "Leaving";
    api::set_condition(
        evacuation.status.conditions,
        {"GroupReady", yes ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse, mate.vote, "", 0, {}}, kNoon);
  }
  made.evacuation = std::make_shared<const api::Evacuation>(std::move(evacuation));
  return made;
}

Life in_pod_group(const std::vector<Mate>& mates, std::int32_t order = 0) {
  Life life;
  life.seen.pod_group.name = "trainer";
  life.seen.pod_group.order = order;
  for (const Mate& mate : mates) life.seen.pod_group.members.push_back(member(mate));
  return life;
}

struct BeginCase {
  const char* name;
  Mate mate;
  const char* waits_for;  ///< part of the blocker's message; nullptr if the Evacuation begins
};

class PodGroupBegins : public testing::TestWithParam<BeginCase> {};

TEST_P(PodGroupBegins, OnlyAsAWhole) {
  Life life = in_pod_group({GetParam().mate});
  life.tick();
  if (!GetParam().waits_for) {
    EXPECT_NE(life.phase(), Phase::kPending);
    return;
  }
  EXPECT_EQ(life.phase(), Phase::kPending);
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "WaitingForGroup");
  ASSERT_EQ(life.status().blocked_by.size(), 1u);
  EXPECT_EQ(life.status().blocked_by[0].kind, "Group");
  EXPECT_EQ(life.status().blocked_by[0].name, "trainer");
  EXPECT_NE(life.status().blocked_by[0].message.find(GetParam().waits_for), std::string::npos)
      << life.status().blocked_by[0].message;
  EXPECT_EQ(life.status().group, "trainer");
  EXPECT_FALSE(life.last.wants_slot);
}

INSTANTIATE_TEST_SUITE_P(
    Mates, PodGroupBegins,
    testing::Values(BeginCase{"WhenAllAreAskedToLeave", {}, nullptr},
                    BeginCase{"WhenTheOtherHasBegun", {.phase = Phase::kPreparing}, nullptr},
                    BeginCase{"WhenTheOtherHasLeft", {.phase = Phase::kVerifying, .live = false}, nullptr},
                    BeginCase{"NotWhileNobodyAskedTheOther", {.requested = false}, "mate (no Evacuation)"},
                    BeginCase{"NotWhileTheOtherWaitsForAPerson", {.suspend = true}, "mate (suspended)"},
                    BeginCase{"NotWhileTheOtherIsCancelled", {.cancel = true}, "mate (being cancelled)"},
                    BeginCase{"NotWhenTheOtherHasFailed", {.phase = Phase::kFailed}, "mate (Failed NotEvictable)"}),
    [](const auto& test) { return test.param.name; });

TEST(PodGroupBeginning, EndsWithTheNameOfTheMissingMember) {
  Life life = in_pod_group({{.name = "b", .requested = false}});
  life.tick();
  life.advance(seconds(600));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kCancelled);
  EXPECT_EQ(life.status().reason, "DecisionExpired");
  EXPECT_NE(life.status().message.find("b (no Evacuation)"), std::string::npos) << life.status().message;
}

std::shared_ptr<const api::PodDisruptionBudget> everything(std::int32_t allowed) {
  auto budget = std::make_shared<api::PodDisruptionBudget>();
  budget->meta.ns = "shop";
  budget->meta.name = "all";
  budget->selector = api::LabelSelector{};
  budget->disruptions_allowed = allowed;
  return budget;
}

TEST(PodGroupBeginning, WaitsForABudgetThatAllowsAll) {
  Life life = in_pod_group({{.name = "b"}, {.name = "later", .order = 1}});
  life.seen.pdbs = {everything(1)};
  life.tick();
  EXPECT_EQ(life.condition_reason("SlotAcquired"), "WaitingForGroup");
  ASSERT_EQ(life.status().blocked_by.size(), 1u);
  EXPECT_EQ(life.status().blocked_by[0].kind, "PodDisruptionBudget");
  EXPECT_EQ(life.status().blocked_by[0].name, "all");
  EXPECT_EQ(life.status().blocked_by[0].disruptions_allowed, 1);
  life.seen.pdbs = {everything(2)};
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPreparing) << "the later one does not leave at the same time";
}

struct GateCase {
  const char* name;
  std::vector<Mate> mates;
  std::int32_t order;
  Phase want;
  std::string vote;  ///< expected own GroupReady reason
};

class PodGroupGate : public testing::TestWithParam<GateCase> {};

TEST_P(PodGroupGate, OpensForAll) {
  const GateCase& c = GetParam();
  Life life = in_pod_group(c.mates, c.order);
  life.status().group = "trainer";
  life.status().phase = Phase::kPreparing;
  life.status().phase_entered_at = life.status().started_at = kNoon;
  life.status().attempt = 1;
  life.status().token = "e5b3.1";
  life.tick();
  EXPECT_EQ(life.phase(), c.want) << life.status().message;
  EXPECT_EQ(life.condition_reason("GroupReady"), c.vote);
  EXPECT_EQ(life.action(), c.want == Phase::kRequesting ? "PostEviction" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Mates, PodGroupGate,
    testing::Values(
        GateCase{"NotBeforeTheOtherHasItsSlot", {{}}, 0, Phase::kPreparing, "Prepared"},
        GateCase{"NotBeforeTheOtherIsPrepared", {{.phase = Phase::kPreparing}}, 0, Phase::kPreparing, "Prepared"},
        GateCase{
            "WhenAllArePrepared", {{.phase = Phase::kPreparing, .vote = "Prepared"}}, 0, Phase::kRequesting, "Leaving"},
        GateCase{"NotOnTheVoteOfAnAttemptThatIsOver",
                 {{.phase = Phase::kBackoff, .vote = "Prepared"}},
                 0,
                 Phase::kPreparing,
                 "Prepared"},
        GateCase{"WhenAnotherOneIsOnItsWay",
                 {{.phase = Phase::kRequesting, .vote = "Leaving"}, {.name = "slow", .phase = Phase::kPreparing}},
                 0,
                 Phase::kRequesting,
                 "Leaving"},
        GateCase{"NotWhenOneStays", {{.phase = Phase::kFailed}}, 0, Phase::kFailed, "MemberStays"},
        GateCase{"NotWhenOneWasCancelled", {{.phase = Phase::kCancelled}}, 0, Phase::kFailed, "MemberStays"},
        GateCase{"NotWhenTheEvacuationOfOneWasDeleted", {{.deleted = true}}, 0, Phase::kFailed, "MemberStays"},
        GateCase{"ForTheRestWhenOneFailsTooLate",
                 {{.phase = Phase::kRequesting, .vote = "Leaving"}, {.name = "failed", .phase = Phase::kFailed}},
                 0,
                 Phase::kRequesting,
                 "Leaving"},
        GateCase{
            "LastForTheLeader", {{.phase = Phase::kRequesting, .vote = "Leaving"}}, 1, Phase::kPreparing, "Prepared"},
        GateCase{"ForTheLeaderOnceTheWorkersHaveLeft",
                 {{.phase = Phase::kVerifying, .vote = "Leaving", .live = false}},
                 1,
                 Phase::kRequesting,
                 "Leaving"},
        GateCase{"ForTheLeaderWhenAWorkerFailedTooLate",
                 {{.phase = Phase::kFailed, .vote = "Leaving"}},
                 1,
                 Phase::kRequesting,
                 "Leaving"},
        GateCase{"FirstForTheWorkers",
                 {{.phase = Phase::kPreparing, .vote = "Prepared", .order = 1}},
                 0,
                 Phase::kRequesting,
                 "Leaving"},
        GateCase{"ForThoseWhoWereThereFromTheBeginning",
                 {{.name = "replacement", .requested = false}, {.phase = Phase::kPreparing, .vote = "Prepared"}},
                 0,
                 Phase::kRequesting,
                 "Leaving"}),
    [](const auto& test) { return test.param.name; });

TEST(PodGroupGateTime, IsThatOfPreparingAndThatOfTheOthers) {
  Life life = in_pod_group({{.phase = Phase::kPreparing}});
  auto slow = *life.seen.pod_group.members[0].evacuation;
  slow.status.deadline = kNoon + seconds(1000);
  life.seen.pod_group.members[0].evacuation = std::make_shared<const api::Evacuation>(slow);
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPreparing);
  life.advance(seconds(999));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPreparing) << "the other one's hook may take its time";
  life.advance(seconds(2));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kBackoff);
  EXPECT_EQ(life.status().reason, "GroupStays");
  EXPECT_NE(life.status().message.find("mate (Preparing)"), std::string::npos) << life.status().message;
}

TEST(PodGroupGateTime, HasNoEndWhileThoseBeforeItLeave) {
  Life life = in_pod_group({{.phase = Phase::kPreparing, .vote = "Prepared"}}, 1);
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPreparing);
  life.advance(std::chrono::hours(5));
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kPreparing);
  life.seen.pod_group.members[0] = member({.phase = Phase::kVerifying, .vote = "Leaving", .live = false});
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
}

TEST(PodGroupRound, OmitsMembersOfAnotherRound) {
  api::Evacuation own = make_evacuation();
  api::Evacuation other = make_evacuation();
  other.meta.name = "other";
  EXPECT_TRUE(controllers::evacuation::counts_for_pod_group(own, other));
  EXPECT_FALSE(controllers::evacuation::counts_for_pod_group(own, own));
  other.status.phase = Phase::kFailed;
  other.status.finished_at = kNoon - seconds(1);
  EXPECT_FALSE(controllers::evacuation::counts_for_pod_group(own, other)) << "ended before this one was asked for";
  other.status.finished_at = kNoon + seconds(1);
  EXPECT_TRUE(controllers::evacuation::counts_for_pod_group(own, other));
  other.status.phase = Phase::kVerifying;
  other.status.started_at = kNoon - seconds(60);
  EXPECT_FALSE(controllers::evacuation::counts_for_pod_group(own, other)) << "an earlier leaving, not over yet";
  other.status.phase = Phase::kPending;
  other.status.started_at.reset();
  other.meta.creation_timestamp = kNoon + seconds(60);
  own.status.started_at = kNoon + seconds(30);
  EXPECT_FALSE(controllers::evacuation::counts_for_pod_group(own, other)) << "came after this one was admitted";
}

TEST(PodGroupRound, IgnoresDryRuns) {
  const api::Evacuation own = make_evacuation();
  api::Evacuation dry = make_evacuation();
  dry.meta.name = "dry";
  dry.spec.dry_run = true;
  EXPECT_TRUE(controllers::evacuation::counts_for_pod_group(own, dry)) << "named as what its member waits for";
  api::Evacuation real = dry;
  real.meta.name = "real";
  real.spec.dry_run = false;
  dry.meta.creation_timestamp = real.meta.creation_timestamp + seconds(60);
  EXPECT_TRUE(controllers::evacuation::takes_precedence(real, dry)) << "although it is older";
  EXPECT_FALSE(controllers::evacuation::takes_precedence(dry, real));
  dry.status.phase = Phase::kSucceeded;
  dry.status.finished_at = kNoon + seconds(61);
  EXPECT_FALSE(controllers::evacuation::counts_for_pod_group(own, dry)) << "its success moved no pod";
}

// --- lookup of the PodGroup in the caches

TEST(PodGroupLookup, DistinguishesMembersAtTheAdmissionFromLaterOnes) {
  kube::Store<api::Evacuation> evacuations;
  kube::Store<api::Pod> pods;
  kube::Store<api::PodDisruptionBudget> pdbs;
  controllers::evacuation::add_evacuation_indexes(evacuations, pods, pdbs);
  const auto put = [&](const std::string& name, base::TimePoint created) {
    api::Pod pod = make_pod({{"evacuator.dev/group", "trainer"}}, "uid-" + name, name);
    pod.meta.creation_timestamp = created;
    pods.put(std::make_shared<const api::Pod>(pod));
  };
  put("old", kNoon - seconds(60));
  put("new", kNoon);
  api::Evacuation own = make_evacuation();
  own.status.phase = Phase::kPreparing;
  own.status.attempt = 1;
  own.status.group = "trainer";
  own.status.started_at = kNoon + base::milliseconds(500);
  const api::Pod pod = make_pod({{"evacuator.dev/group", "trainer"}});
  std::map<std::string, bool> stayed;
  for (const auto& each : controllers::evacuation::look_up_pod_group(own, &pod, evacuations, pods).members)
    stayed[each.pod] = controllers::evacuation::has_stayed(each);
  EXPECT_EQ(stayed, (std::map<std::string, bool>{{"old", true}, {"new", false}}));
}

TEST(PodGroupLookup, FindsMembersByTheirPodsAndByTheirEvacuations) {
  kube::Store<api::Evacuation> evacuations;
  kube::Store<api::Pod> pods;
  kube::Store<api::PodDisruptionBudget> pdbs;
  controllers::evacuation::add_evacuation_indexes(evacuations, pods, pdbs);
  const Annotations group = {{"evacuator.dev/group", "trainer"}};
  const auto put_pod = [&](const std::string& name, Annotations annotations, bool ended = false) {
    api::Pod pod = make_pod(std::move(annotations), "uid-" + name, name);
    if (ended) pod.phase = api::PodPhase::kSucceeded;
    pods.put(std::make_shared<const api::Pod>(pod));
  };
  const auto put_evacuation = [&](const std::string& pod, Phase phase, const std::string& pod_group) {
    api::Evacuation made = make_evacuation();
    made.meta.name = pod + "-evac";
    made.spec.pod_ref = {pod, {"uid-" + pod}};
    made.status.phase = phase;
    made.status.group = pod_group;
    evacuations.put(std::make_shared<const api::Evacuation>(made));
  };
  put_pod("unasked", group);
  put_pod("fresh", group);
  put_evacuation("fresh", Phase::kPending, "");  // its group is not stored yet
  put_evacuation("gone", Phase::kEvicting, "trainer");
  put_pod("done", group, true);
  put_pod("stranger", {});
  const api::Pod own = make_pod(group);
  pods.put(std::make_shared<const api::Pod>(own));

  const auto view = controllers::evacuation::look_up_pod_group(make_evacuation(), &own, evacuations, pods);
  EXPECT_EQ(view.name, "trainer");
  std::map<std::string, std::string> seen;
  for (const auto& each : view.members)
    seen[each.pod] = fmt::format("{} {}", each.live ? "live" : "gone", each.evacuation ? "asked" : "unasked");
  EXPECT_EQ(seen, (std::map<std::string, std::string>{
                      {"unasked", "live unasked"}, {"fresh", "live asked"}, {"gone", "gone asked"}}));

  api::Evacuation dry = make_evacuation();
  dry.spec.dry_run = true;
  EXPECT_TRUE(controllers::evacuation::look_up_pod_group(dry, &own, evacuations, pods).name.empty());
  const api::Evacuation gone = *evacuations.get({"shop", "gone-evac"});
  api::Evacuation verifying = gone;
  verifying.status.phase = Phase::kVerifying;
  EXPECT_TRUE(controllers::evacuation::pod_group_keys_to_wake(&gone, &gone, evacuations).empty())
      << "nothing of interest changed";
  put_evacuation("waiting", Phase::kPending, "trainer");
  EXPECT_EQ(controllers::evacuation::pod_group_keys_to_wake(&gone, &verifying, evacuations),
            (std::vector<api::ObjectKey>{{"shop", "waiting-evac"}}));
}

// --- admission

api::AdmissionLimits at_most(std::int64_t total, std::optional<std::int64_t> node = {},
                             std::optional<std::int64_t> workload = {}) {
  const auto number = [](std::optional<std::int64_t> n) {
    return n ? std::optional(api::IntOrPercent{*n, false}) : std::nullopt;
  };
  api::AdmissionLimits limits;
  limits.in_flight = {number(total), number(node), {}, number(workload)};
  return limits;
}

class PodGroupAdmission : public testing::Test {
 protected:
  explicit PodGroupAdmission(const api::AdmissionLimits& limits = at_most(4))
      : queue(limits, clock, [this](const api::ObjectKey& key, base::Duration after) {
          if (after == base::Duration::zero()) woken.insert(key.name);
        }) {}

  AdmissionRequest request_of(const std::string& name, const std::string& pod_group = "",
                              std::vector<std::string> with = {}, const std::string& node = "n1") {
    AdmissionRequest request;
    request.key = {"shop", name};
    request.pod_uid = "pod-of-" + name;
    request.node = node;
    request.workload = pod_group.empty() ? "w-" + name : "w-" + pod_group.substr(0, 1);
    request.created = kNoon + seconds(created.try_emplace(name, static_cast<int>(created.size())).first->second);
    request.pod_group = pod_group.empty() ? "" : "shop/" + pod_group;
    for (const auto& each : with) request.together.push_back({"shop", each});
    return request;
  }
  bool ask(const AdmissionRequest& request) {
    last = queue.request(request);
    return last.slot.state == controllers::Slot::State::kGranted;
  }
  void store(const std::string& name, Phase phase, const std::string& pod_group = "") {
    api::Evacuation now = make_evacuation();
    now.meta.name = name;
    now.meta.uid = "uid-" + name;
    now.meta.creation_timestamp = kNoon;
    now.spec.pod_ref = {name, {"pod-of-" + name}};
    now.spec.node_name = {"n1"};
    now.status.phase = phase;
    now.status.attempt = 1;
    now.status.group = pod_group;
    now.status.workload_group = pod_group.empty() ? "w-" + name : "w-" + pod_group.substr(0, 1);
    queue.observe(nullptr, &now);
  }
  std::string says() const { return last.slot.limit ? last.slot.limit->message : ""; }

  base::ManualClock clock{kNoon};
  std::map<std::string, int> created;
  std::set<std::string> woken;
  AdmissionQueue queue;
  controllers::Admission last;
};

TEST_F(PodGroupAdmission, AdmitsAllWhenTheLastMemberRequests) {
  EXPECT_FALSE(ask(request_of("a", "g", {"b", "c"})));
  EXPECT_EQ(last.slot.limit->kind, "Group");
  EXPECT_FALSE(ask(request_of("b", "g", {"a", "c"})));
  EXPECT_TRUE(ask(request_of("c", "g", {"a", "b"})));
  EXPECT_EQ(woken, (std::set<std::string>{"a", "b"}));
  EXPECT_TRUE(ask(request_of("a", "g", {"b", "c"})));
  EXPECT_TRUE(ask(request_of("b", "g", {"a", "c"})));
  EXPECT_EQ(queue.usage().in_flight, 3);
}

TEST_F(PodGroupAdmission, GrantsNoSlotUntilAllMembersFit) {
  ASSERT_TRUE(ask(request_of("x")));
  ASSERT_TRUE(ask(request_of("y")));
  EXPECT_FALSE(ask(request_of("a", "g", {"b", "c"})));
  EXPECT_FALSE(ask(request_of("b", "g", {"a", "c"})));
  EXPECT_FALSE(ask(request_of("c", "g", {"a", "b"})));
  EXPECT_NE(says().find("its PodGroup needs 3 slots at once"), std::string::npos) << says();
  EXPECT_EQ(queue.usage().in_flight, 2);
  store("x", Phase::kSucceeded);
  EXPECT_EQ(woken, (std::set<std::string>{"a", "b", "c"}));
  EXPECT_EQ(queue.usage().in_flight, 4);
}

TEST_F(PodGroupAdmission, IsNotOvertakenIndefinitely) {
  ASSERT_TRUE(ask(request_of("x")));
  ASSERT_TRUE(ask(request_of("y")));
  ask(request_of("a", "g", {"b", "c"}));
  ask(request_of("b", "g", {"a", "c"}));
  ask(request_of("c", "g", {"a", "b"}));
  EXPECT_FALSE(ask(request_of("late"))) << "two slots are free, but they are kept for the group";
  store("x", Phase::kSucceeded);
  EXPECT_EQ(woken, (std::set<std::string>{"a", "b", "c"}));
}

TEST_F(PodGroupAdmission, TwoOfThemNeverHoldHalfEach) {
  for (const char* name : {"a1", "b1", "a2", "b2"}) {
    const std::string pod_group(1, name[0]);
    ask(request_of(name, pod_group, {pod_group + (name[1] == '1' ? "2" : "1"), pod_group + "3"}));
  }
  EXPECT_EQ(queue.usage().in_flight, 0) << "each of them still waits for its third";
  EXPECT_TRUE(ask(request_of("a3", "a", {"a1", "a2"})));
  EXPECT_FALSE(ask(request_of("b3", "b", {"b1", "b2"})));
  EXPECT_EQ(queue.usage().in_flight, 3) << "all of a, none of b";
  for (const char* name : {"a1", "a2", "a3"}) store(name, Phase::kSucceeded, "a");
  EXPECT_EQ(queue.usage().in_flight, 3);
  EXPECT_TRUE(woken.contains("b1") && woken.contains("b2"));
}

TEST_F(PodGroupAdmission, ReportsALimitThatIsTooSmallAndBlocksNoOthers) {
  const std::vector<std::string> all = {"a", "b", "c", "d", "e"};
  const auto asked = [&](const std::string& name) {
    std::vector<std::string> with = all;
    std::erase(with, name);
    return ask(request_of(name, "g", with));
  };
  for (const std::string& name : all) EXPECT_FALSE(asked(name));
  EXPECT_EQ(last.slot.limit->kind, "Group");
  EXPECT_NE(says().find("5 pods of the PodGroup leave at the same time"), std::string::npos) << says();
  EXPECT_NE(says().find("at most 4"), std::string::npos) << says();
  EXPECT_TRUE(ask(request_of("other")));
  queue.set_cluster_limits(at_most(6));
  EXPECT_EQ(std::count_if(all.begin(), all.end(), asked), 1) << "the last one that asks again finds them complete";
  for (const std::string& name : all) EXPECT_TRUE(asked(name));
}

// --- PodGroups whose size is chosen to delay other Evacuations

constexpr int kHuge = 2000;

TEST(PodGroupAttacks, AGroupOfTwoThousandIsNotSearched) {
  kube::Store<api::Evacuation> evacuations;
  kube::Store<api::Pod> pods;
  kube::Store<api::PodDisruptionBudget> pdbs;
  controllers::evacuation::add_evacuation_indexes(evacuations, pods, pdbs);
  for (int i = 0; i < kHuge; ++i) {
    const std::string name = fmt::format("pod-{}", i);
    pods.put(
        std::make_shared<const api::Pod>(make_pod({{"evacuator.dev/group", "huge"}}, fmt::format("uid-{}", i), name)));
    api::Evacuation made = make_evacuation();
    made.meta.name = name;
    made.spec.pod_ref = {name, {fmt::format("uid-{}", i)}};
    made.status.group = "huge";
    evacuations.put(std::make_shared<const api::Evacuation>(made));
  }
  const api::Evacuation own = *evacuations.get({"shop", "pod-0"});
  const auto pod = pods.get({"shop", "pod-0"});
  Life life;
  life.seen.pod_group = controllers::evacuation::look_up_pod_group(own, pod.get(), evacuations, pods);
  EXPECT_TRUE(life.seen.pod_group.too_large);
  EXPECT_TRUE(life.seen.pod_group.members.empty());
  EXPECT_TRUE(controllers::evacuation::pod_group_keys_to_wake(*pod, evacuations).empty());
  life.tick();
  ASSERT_FALSE(life.status().blocked_by.empty());
  EXPECT_EQ(life.status().blocked_by.front().kind, "Group");
  EXPECT_NE(life.status().blocked_by.front().message.find("at most 64"), std::string::npos);
  EXPECT_FALSE(life.last.wants_slot);
}

TEST(PodGroupAttacks, AGroupOfTwoThousandCostsTheOthersNothing) {
  base::ManualClock clock{kNoon};
  AdmissionQueue queue(at_most(kHuge), clock, {});
  std::vector<api::ObjectKey> all;
  for (int i = 0; i < kHuge; ++i) all.push_back({"attacker", fmt::format("evac-{:04}", i)});
  const auto ask = [&](const std::string& ns, const std::string& name, std::vector<api::ObjectKey> together) {
    AdmissionRequest request;
    request.key = {ns, name};
    request.pod_uid = "pod-of-" + name;
    request.created = kNoon;
    request.pod_group = ns + "/g";
    request.together = std::move(together);
    return queue.request(request).slot;
  };
  std::string says;
  for (int i = 0; i < 100; ++i) {
    const api::ObjectKey& key = all[static_cast<std::size_t>(i)];
    std::vector<api::ObjectKey> others = all;
    std::erase(others, key);
    const controllers::Slot slot = ask(key.ns, key.name, std::move(others));
    ASSERT_EQ(slot.state, controllers::Slot::State::kWaiting);
    ASSERT_TRUE(slot.limit);
    says = slot.limit->message;
  }
  EXPECT_NE(says.find("2000 pods of the PodGroup leave at the same time, which no limit ever allows"),
            std::string::npos)
      << says;
  EXPECT_EQ(queue.usage().waiting, 0) << "it holds up nobody";
  EXPECT_EQ(queue.usage().in_flight, 0);
  EXPECT_EQ(ask("shop", "a", {{"shop", "b"}}).state, controllers::Slot::State::kWaiting);
  EXPECT_EQ(ask("shop", "b", {{"shop", "a"}}).state, controllers::Slot::State::kGranted);
}

TEST_F(PodGroupAdmission, ASizeIsBoundedEvenWithoutALimit) {
  queue.set_cluster_limits({});
  std::vector<std::string> others;
  for (int i = 1; i < 65; ++i) others.push_back(fmt::format("m-{}", i));
  EXPECT_FALSE(ask(request_of("m-0", "g", others)));
  EXPECT_NE(says().find("65 pods of the PodGroup"), std::string::npos) << says();
  EXPECT_NE(says().find("at most 64"), std::string::npos) << says();
  others.pop_back();
  EXPECT_FALSE(ask(request_of("m-0", "g", others)));
  EXPECT_NE(says().find("waits until all members of its PodGroup request"), std::string::npos) << says();
}

TEST_F(PodGroupAdmission, ANodesLimitCountsAllThatLeaveIt) {
  queue.set_cluster_limits(at_most(9, 2));
  ASSERT_TRUE(ask(request_of("x")));
  ask(request_of("a", "g", {"b", "c"}));
  ask(request_of("b", "g", {"a", "c"}));
  EXPECT_FALSE(ask(request_of("c", "g", {"a", "b"}, "n2")));
  EXPECT_NE(says().find("at most 2 in flight from node n1"), std::string::npos) << says();
  EXPECT_FALSE(ask(request_of("late"))) << "the place on n1 is kept for the group";
  EXPECT_TRUE(ask(request_of("elsewhere", "", {}, "n3"))) << "other nodes are not concerned";
  store("x", Phase::kSucceeded);
  EXPECT_EQ(queue.usage().in_flight, 4);
}

TEST_F(PodGroupAdmission, CountsAsOneInItsWorkload) {
  queue.set_cluster_limits(at_most(9, {}, 1));
  ask(request_of("a", "g", {"b"}));
  EXPECT_TRUE(ask(request_of("b", "g", {"a"})));
  AdmissionRequest other = request_of("c", "g2", {});
  other.workload = "w-g";
  EXPECT_FALSE(ask(other)) << "another group of the same workload";
  EXPECT_EQ(last.slot.limit->name, "workload");
  store("a", Phase::kPreparing, "g");
  store("b", Phase::kPreparing, "g");
  store("a", Phase::kSucceeded, "g");
  EXPECT_FALSE(ask(other));
  store("b", Phase::kSucceeded, "g");
  EXPECT_TRUE(ask(other));
}

TEST_F(PodGroupAdmission, AdmitsOtherGroupsWhenOneGivesUp) {
  ASSERT_TRUE(ask(request_of("x")));
  ASSERT_TRUE(ask(request_of("y")));
  ask(request_of("a", "g", {"b", "c"}));
  ask(request_of("b", "g", {"a", "c"}));
  ask(request_of("c", "g", {"a", "b"}));
  EXPECT_FALSE(ask(request_of("late")));
  queue.withdraw({"shop", "b"});
  EXPECT_TRUE(woken.contains("late")) << "nothing is kept for a group that does not ask any more";
  EXPECT_FALSE(ask(request_of("a", "g", {"b", "c"})));
}

TEST_F(PodGroupAdmission, MembersOfABegunGroupRequestSeparately) {
  store("a", Phase::kPreparing, "g");  // stored by the previous leader, which crashed before it stored b
  EXPECT_TRUE(ask(request_of("b", "g", {})));
  EXPECT_EQ(queue.usage().in_flight, 2);
}

TEST_F(PodGroupAdmission, ARateCountsEachOfThem) {
  api::AdmissionLimits limits = at_most(9);
  limits.rate = api::RateLimit{};
  limits.rate->per_second = 1;
  limits.rate->burst = 3;
  queue.set_cluster_limits(limits);
  ASSERT_TRUE(ask(request_of("x")));
  ask(request_of("a", "g", {"b", "c"}));
  ask(request_of("b", "g", {"a", "c"}));
  EXPECT_FALSE(ask(request_of("c", "g", {"a", "b"}))) << "two tokens are left";
  clock.advance(seconds(1));
  EXPECT_TRUE(ask(request_of("c", "g", {"a", "b"})));
}

}  // namespace pod_group_test
