/// Terminal pods and the criteria that lifetime strategies share: RemoveFailedPods, PodCriteria, retention, restarts
/// within a time window.

#include <gmock/gmock.h>

#include "planner/strategies/lifetime/criteria.hpp"
#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace terminal_pods_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using builders::StrategyRun;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kUpstream = api::Compatibility::kUpstream;
constexpr auto kFailedPods = "RemoveFailedPods";

PodBuilder ended(std::string name, std::int64_t seconds, std::int32_t code = 1, std::string reason = "Error") {
  return PodBuilder(std::move(name))
      .on("n1")
      .phase(code == 0 ? api::PodPhase::kSucceeded : api::PodPhase::kFailed)
      .older_by(base::seconds(seconds))
      .with([&](api::Pod& pod) {
        api::ContainerStatus status;
        status.name = "main";
        status.terminated_reason = reason;
        status.exit_code = code;
        status.finished_at = kNoon - base::seconds(seconds);
        pod.container_statuses.push_back(status);
      });
}

StrategyRun run_on(const ClusterBuilder& cluster, const std::string& strategy, const std::string& args,
                   api::Compatibility compatibility = api::Compatibility::kNone) {
  StrategyRun run(cluster);
  run.compatibility = compatibility;
  run.run(strategy, args);
  return run;
}

ClusterBuilder one_node() { return ClusterBuilder().add(NodeBuilder("n1")); }

struct FailedCase {
  std::string name;
  std::string args;
  PodBuilder pod;
  bool want;
};

class RemoveFailedPodsTest : public testing::TestWithParam<FailedCase> {};

TEST_P(RemoveFailedPodsTest, RemovesByCriteria) {
  for (const auto compatibility : {api::Compatibility::kNone, kUpstream}) {
    StrategyRun run(one_node().add(GetParam().pod));
    run.compatibility = compatibility;
    run.run(kFailedPods, GetParam().args);
    EXPECT_EQ(!run.sink.accepted.empty(), GetParam().want) << to_string(compatibility);
  }
}

PodBuilder with_init_status(PodBuilder pod) {
  return pod.with([](api::Pod& each) { each.container_statuses.back().is_init = true; });
}

INSTANTIATE_TEST_SUITE_P(
    Criteria, RemoveFailedPodsTest,
    testing::Values(
        FailedCase{"TakesAFailedPod", "{}", ended("p", 3600), true},
        FailedCase{"WaitsAnHourByDefault", "{}", ended("p", 3599), false},
        FailedCase{"TakesAPodOfTheVeryAge", R"({"minPodLifetimeSeconds":60})", ended("p", 60), true},
        FailedCase{"SparesOneASecondYounger", R"({"minPodLifetimeSeconds":60})", ended("p", 59), false},
        FailedCase{"SparesSucceededPods", "{}", ended("p", 9999, 0), false},
        FailedCase{"SparesRunningPods", "{}", PodBuilder("p").on("n1").older_by(base::seconds(9999)), false},
        FailedCase{"KnowsReasonsOfContainers", R"({"reasons":["Error"]})", ended("p", 9999), true},
        FailedCase{"KnowsReasonsOfPods", R"({"reasons":["Evicted"]})",
                   ended("p", 9999).with([](api::Pod& pod) { pod.status_reason = "Evicted"; }), true},
        FailedCase{"SparesOtherReasons", R"({"reasons":["OOMKilled"]})", ended("p", 9999), false},
        FailedCase{"SparesInitContainersUnlessAsked", R"({"reasons":["Error"]})", with_init_status(ended("p", 9999)),
                   false},
        FailedCase{"LooksAtInitContainersWhenAsked", R"({"exitCodes":[1],"includingInitContainers":true})",
                   with_init_status(ended("p", 9999)), true},
        FailedCase{"KnowsExitCodes", R"({"exitCodes":[137,1]})", ended("p", 9999), true},
        FailedCase{"SparesOtherExitCodes", R"({"exitCodes":[2]})", ended("p", 9999), false},
        FailedCase{"SparesExcludedOwners", R"({"excludeOwnerKinds":["ReplicaSet"]})", ended("p", 9999), false},
        FailedCase{"TakesOtherOwners", R"({"excludeOwnerKinds":["Job"]})", ended("p", 9999), true},
        FailedCase{"SparesBarePods", "{}", ended("p", 9999).bare(), false},
        FailedCase{"SparesOtherNamespaces", R"({"namespaces":{"exclude":["default"]}})", ended("p", 9999), false}),
    [](const auto& test) { return test.param.name; });

TEST(RemoveFailedPods, ReportsTheReason) {
  const auto run = run_on(one_node().add(ended("p", 7200, 137)), kFailedPods, R"({"exitCodes":[137]})");
  EXPECT_EQ(run.sink.reasons.at("p"), "phase Failed, age 120m, exit code 137");
}

TEST(RemoveFailedPods, TakesTheOldestFirstOfAllNodes) {
  const auto cluster = one_node().add(NodeBuilder("n2")).add(ended("a", 4000)).add(ended("b", 9000).on("n2"));
  EXPECT_THAT(run_on(cluster, kFailedPods, "{}").sink.accepted, ElementsAre("b", "a"));
  EXPECT_THAT(run_on(cluster, kFailedPods, "{}", kUpstream).sink.accepted, ElementsAre("a", "b"));
}

TEST(RemoveFailedPods, TreatsAFutureTimeAsLongAgoOnlyForUpstream) {
  const auto cluster = one_node().add(ended("p", -5));
  EXPECT_THAT(run_on(cluster, kFailedPods, "{}").sink.accepted, IsEmpty());
  EXPECT_THAT(run_on(cluster, kFailedPods, "{}", kUpstream).sink.accepted, ElementsAre("p"));
}

// --- retention of terminal pods

api::Workload job(std::string name, std::optional<std::int64_t> ttl) {
  api::Workload workload;
  workload.kind = "Job";
  workload.meta.ns = "default";
  workload.meta.uid = "uid-of-" + name;
  workload.meta.name = std::move(name);
  workload.ttl_seconds_after_finished = ttl;
  return workload;
}

TEST(TerminalPods, AreIgnoredUnlessRequested) {
  const auto cluster = one_node().add(ended("p", 7200, 0));
  const std::string args = R"({"maxPodLifeTimeSeconds":60)";
  const auto run = run_on(cluster, "PodLifeTime", args + "}");
  EXPECT_THAT(run.sink.accepted, IsEmpty());
  EXPECT_EQ(run.sink.refusals.at("p"), "TerminalPod");
  EXPECT_THAT(run_on(cluster, "PodLifeTime", args + R"(,"terminalPods":{"evict":true}})").sink.accepted,
              ElementsAre("p"));
  EXPECT_THAT(run_on(cluster, "PodLifeTime", args + "}", kUpstream).sink.accepted, ElementsAre("p"));
}

struct OwnerCase {
  std::string name;
  PodBuilder pod;
  std::optional<api::Workload> job;
  bool want;
};

class CleanedUpTest : public testing::TestWithParam<OwnerCase> {};

TEST_P(CleanedUpTest, LeavesThemToOwnersThatCleanUp) {
  ClusterBuilder cluster = one_node().add(GetParam().pod);
  if (GetParam().job) cluster.add(*GetParam().job);
  EXPECT_EQ(!run_on(cluster, kFailedPods, "{}").sink.accepted.empty(), GetParam().want);
  EXPECT_FALSE(run_on(cluster, kFailedPods, "{}", kUpstream).sink.accepted.empty());
}

api::Workload of_cron_job(api::Workload workload) {
  workload.meta.owner_references.push_back({"batch/v1", "CronJob", "nightly", "c-1", true});
  return workload;
}

INSTANTIATE_TEST_SUITE_P(
    Owners, CleanedUpTest,
    testing::Values(OwnerCase{"ReplicaSetsDoNot", ended("p", 9999), std::nullopt, true},
                    OwnerCase{"StatefulSetsDo", ended("p", 9999).owned_by("StatefulSet", "db"), std::nullopt, false},
                    OwnerCase{"JobsWithATtlDo", ended("p", 9999).owned_by("Job", "j"), job("j", 100), false},
                    OwnerCase{"JobsWithoutOneDoNot", ended("p", 9999).owned_by("Job", "j"), job("j", {}), true},
                    OwnerCase{"CronJobsDo", ended("p", 9999).owned_by("Job", "j"), of_cron_job(job("j", {})), false},
                    OwnerCase{"JobsThatAreGoneDoNot", ended("p", 9999).owned_by("Job", "j"), std::nullopt, true}),
    [](const auto& test) { return test.param.name; });

TEST(TerminalPods, AreKeptByTheFirstMatchingRetention) {
  const auto cluster = one_node()
                           .add(ended("ci", 700).ns("ci"))
                           .add(ended("tool", 700).label("keep", "long"))
                           .add(ended("web", 700))
                           .add(ended("old", 90000).label("keep", "long"));
  const auto run = run_on(cluster, kFailedPods, R"({"minPodLifetimeSeconds":0,"terminalPods":{"keepSeconds":3600,
      "retention":[{"namespaces":{"include":["ci"]},"keepSeconds":600},
                   {"labelSelector":{"matchLabels":{"keep":"long"}},"keepSeconds":86400}]}})");
  EXPECT_THAT(run.sink.accepted, ElementsAre("old", "ci"));
  EXPECT_EQ(run.sink.refusals.at("web"), "TerminalPodKept");
  EXPECT_EQ(run.sink.refusals.at("tool"), "TerminalPodKept");
}

TEST(TerminalPods, AreKeptByNumberForEachOwner) {
  ClusterBuilder cluster = one_node();
  for (int i = 1; i <= 4; ++i) cluster.add(ended("a" + std::to_string(i), 9000 + i).owned_by("ReplicaSet", "a"));
  cluster.add(ended("b", 9000).owned_by("ReplicaSet", "b"));
  const auto run = run_on(cluster, kFailedPods, R"({"terminalPods":{"keepNewest":2}})");
  EXPECT_THAT(run.sink.accepted, ElementsAre("a4", "a3"));
}

TEST(TerminalPods, AreKeptByNumberForEachControllerWhateverOtherOwnersTheyHave) {
  ClusterBuilder cluster = one_node();
  for (int i = 1; i <= 4; ++i) {
    const std::string name = "a" + std::to_string(i);
    cluster.add(ended(name, 9000 + i).bare().with([&](api::Pod& pod) {
      pod.meta.owner_references.push_back({"v1", "ConfigMap", "other", "uid-of-other-" + name, false});
      pod.meta.owner_references.push_back({"apps/v1", "ReplicaSet", "a", "uid-of-a", true});
    }));
  }
  const auto run = run_on(cluster, kFailedPods, R"({"terminalPods":{"keepNewest":2}})");
  EXPECT_THAT(run.sink.accepted, ElementsAre("a4", "a3"));
}

TEST(TerminalPods, AgeFromTheirEndAndNotFromTheirStart) {
  auto pod = ended("p", 10).older_by(base::seconds(9999));
  const auto args = R"({"states":["Failed"],"terminalPods":{"evict":true,"keepSeconds":60}})";
  EXPECT_THAT(run_on(one_node().add(pod), "PodLifeTime", args).sink.accepted, IsEmpty());
}

// --- PodCriteria

struct CombinedCase {
  std::string name;
  std::string args;
  PodBuilder pod;
  std::string want;  ///< Expected reason, empty if not nominated
};

class PodCriteriaTest : public testing::TestWithParam<CombinedCase> {};

TEST_P(PodCriteriaTest, CombinesCriteria) {
  StrategyRun run(one_node().add(GetParam().pod));
  run.run("PodCriteria", GetParam().args);
  EXPECT_EQ(run.sink.accepted.empty() ? "" : run.sink.reasons.at("p"), GetParam().want);
}

PodBuilder restarted_pod(std::int32_t restarts, std::int64_t last_seconds_ago, std::int64_t age) {
  return PodBuilder("p").on("n1").older_by(base::seconds(age)).with([&](api::Pod& pod) {
    api::ContainerStatus status;
    status.name = "main";
    status.restart_count = restarts;
    status.waiting_reason = "CrashLoopBackOff";
    status.last_finished_at = kNoon - base::seconds(last_seconds_ago);
    pod.container_statuses.push_back(status);
  });
}

/// Pod that runs again after an OOM kill.
PodBuilder killed_and_back() {
  return restarted_pod(1, 60, 99999).with([](api::Pod& pod) {
    pod.container_statuses[0].waiting_reason.clear();
    pod.container_statuses[0].last_terminated_reason = "OOMKilled";
    pod.container_statuses[0].last_exit_code = 137;
  });
}

INSTANTIATE_TEST_SUITE_P(
    Strategy, PodCriteriaTest,
    testing::Values(
        CombinedCase{"TakesAPodOfTheVeryAge", R"({"minAgeSeconds":60})", restarted_pod(0, 0, 60), "age 60s"},
        CombinedCase{"SparesAYoungerOne", R"({"minAgeSeconds":60})", restarted_pod(0, 0, 59), ""},
        CombinedCase{"NeedsAllCriteria", R"({"minAgeSeconds":60,"phases":["Pending"]})", restarted_pod(0, 0, 60), ""},
        CombinedCase{"TakesAnyReason", R"({"reasons":["ErrImageNeverPull"]})",
                     restarted_pod(0, 0, 60).with([](api::Pod& pod) {
                       pod.container_statuses[0].waiting_reason = "ErrImageNeverPull";
                     }),
                     "reason ErrImageNeverPull"},
        CombinedCase{"LooksAtTheStateOfNow", R"({"reasons":["OOMKilled"],"exitCodes":[137]})", killed_and_back(), ""},
        CombinedCase{"LooksAtTheLastStateOnRequest",
                     R"({"reasons":["OOMKilled"],"exitCodes":[137],"includingLastState":true})", killed_and_back(),
                     "reason OOMKilled, exit code 137"},
        CombinedCase{"CountsAllRestarts", R"({"restarts":{"atLeast":5}})", restarted_pod(5, 9999, 99999),
                     "its containers restarted 5 times, the threshold is 5"},
        CombinedCase{"CountsAllOfAYoungPodAsWithinTheWindow", R"({"restarts":{"atLeast":5,"withinSeconds":3600}})",
                     restarted_pod(5, 10, 3600), "its containers restarted 5 times within 1h0m0s, the threshold is 5"},
        CombinedCase{"KnowsOnlyTheLastOneOfAnOldPod", R"({"restarts":{"atLeast":2,"withinSeconds":3600}})",
                     restarted_pod(500, 10, 99999), ""},
        CombinedCase{"KnowsTheLastOneOfAnOldPod", R"({"restarts":{"atLeast":1,"withinSeconds":3600}})",
                     restarted_pod(500, 10, 99999),
                     "its containers restarted 1 times within 1h0m0s, the threshold is 1"},
        CombinedCase{"LeavesOldRestartsAlone", R"({"restarts":{"atLeast":1,"withinSeconds":3600}})",
                     restarted_pod(500, 3601, 99999), ""}),
    [](const auto& test) { return test.param.name; });

TEST(RestartHistory, CountsRestartsInTheWindow) {
  const auto seen = [](std::int32_t restarts) { return one_node().add(restarted_pod(restarts, 10, 99999)).build(); };
  RestartHistory history;
  history.observe(*seen(3), kNoon - std::chrono::hours(5));
  history.observe(*seen(8), kNoon - std::chrono::hours(3));
  history.observe(*seen(10), kNoon - base::minutes(30));
  StrategyRun run(one_node().add(restarted_pod(12, 10, 99999)));
  run.restarts = &history;
  run.run("PodCriteria", R"({"restarts":{"atLeast":4,"withinSeconds":7200}})");
  EXPECT_EQ(run.sink.reasons.at("p"), "its containers restarted 4 times within 2h0m0s, the threshold is 4");
  EXPECT_EQ(history.total_at("uid-p", "main", kNoon - std::chrono::hours(9)), 3) << "the first look";
  EXPECT_EQ(history.total_at("uid-p", "side", kNoon), std::nullopt);
}

TEST(RestartHistory, ReturnsTheSameAfterARestore) {
  const auto seen = [](std::int32_t restarts) { return one_node().add(restarted_pod(restarts, 10, 99999)).build(); };
  RestartHistory first;
  for (int i = 5; i >= 1; --i) first.observe(*seen(10 - i), kNoon - std::chrono::hours(i));
  RestartHistory next;
  const auto records = first.records(std::chrono::hours(3), kNoon);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].looks.size(), 3U) << "the one that the window begins with, and two in it";
  next.restore(records, kNoon);
  next.restore(records, kNoon);
  next.observe(*seen(12), kNoon);
  for (int i = 0; i <= 3; ++i) {
    first.observe(*seen(12), kNoon);
    EXPECT_EQ(next.total_at("uid-p", "main", kNoon - std::chrono::hours(i)),
              first.total_at("uid-p", "main", kNoon - std::chrono::hours(i)))
        << i;
  }
  EXPECT_EQ(next.records(std::chrono::hours(3), kNoon), first.records(std::chrono::hours(3), kNoon));
}

TEST(RestartHistory, KeepsTheNewestSamplesOfAContainerThatRestartsOften) {
  RestartHistory history;
  for (int i = 50; i > 0; --i)
    history.observe(*one_node().add(restarted_pod(100 - i, 10, 99999)).build(), kNoon - base::minutes(i));
  const auto records = history.records(std::chrono::hours(1), kNoon);
  ASSERT_EQ(records.at(0).looks.size(), api::kMaxRestartLooks);
  EXPECT_EQ(records[0].looks.back().total, 99);
}

TEST(RestartWindow, IsTheLongestOfTheStrategies) {
  const auto window = [](std::vector<api::StrategyChoice> choices) {
    return parse_strategies(choices).restart_window();
  };
  EXPECT_EQ(window({{"PodLifeTime", R"({"maxPodLifeTimeSeconds":1})"}}), std::nullopt);
  EXPECT_EQ(window({{"RemovePodsHavingTooManyRestarts", R"({"podRestartThreshold":5})"}}), std::nullopt);
  EXPECT_EQ(window({{"RemovePodsHavingTooManyRestarts", R"({"podRestartThreshold":5,"withinSeconds":60})"},
                    {"PodCriteria", R"({"restarts":{"atLeast":5,"withinSeconds":3600}})"}}),
            base::seconds(3600));
}

TEST(RestartHistory, ForgetsDeletedPods) {
  RestartHistory history;
  history.observe(*one_node().add(restarted_pod(3, 10, 99999)).build(), kNoon - base::minutes(2));
  history.observe(*one_node().build(), kNoon);
  EXPECT_EQ(history.total_at("uid-p", "main", kNoon), std::nullopt);
}

TEST(TooManyRestarts, CountsWithinATime) {
  const auto args = R"({"podRestartThreshold":5,"withinSeconds":3600})";
  const auto young = one_node().add(restarted_pod(5, 10, 3600));
  EXPECT_THAT(run_on(young, "RemovePodsHavingTooManyRestarts", args).sink.accepted, ElementsAre("p"));
  const auto old = one_node().add(restarted_pod(500, 10, 99999));
  EXPECT_THAT(run_on(old, "RemovePodsHavingTooManyRestarts", args).sink.accepted, IsEmpty());
}

struct BadArgsCase {
  std::string name;
  std::string strategy;
  std::string args;
  std::string want;
};

class LifetimeArgsTest : public testing::TestWithParam<BadArgsCase> {};

TEST_P(LifetimeArgsTest, NamesFieldAndFix) {
  const auto errors = validate({{GetParam().strategy, GetParam().args}});
  ASSERT_FALSE(errors.empty());
  EXPECT_THAT(errors.front().to_string(), HasSubstr(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    Args, LifetimeArgsTest,
    testing::Values(
        BadArgsCase{"AsksForConsent", "PodLifeTime", R"({"states":["Running","Failed"]})",
                    "args.states[1]: Failed selects pods that have terminated; set terminalPods: {evict: true}"},
        BadArgsCase{"AsksForConsentToPhases", "PodCriteria", R"({"phases":["Succeeded"]})", "args.phases[0]: "},
        BadArgsCase{"KnowsItsPhases", "PodCriteria", R"({"phases":["Dead"]})",
                    "args.phases[0]: \"Dead\" is not one of"},
        BadArgsCase{"NeedsACriterion", "PodCriteria", R"({"ownerKinds":{"include":["Job"]}})",
                    "requires at least one of"},
        BadArgsCase{"WantsSomeRestarts", "PodCriteria", R"({"restarts":{"atLeast":0}})",
                    "args.restarts.atLeast: must be at least 1"},
        BadArgsCase{"WantsATimeAboveZero", "PodCriteria", R"({"restarts":{"withinSeconds":0}})",
                    "args.restarts.withinSeconds: must be at least 1"},
        BadArgsCase{"RefusesUnknownRetention", "PodLifeTime",
                    R"({"maxPodLifeTimeSeconds":1,"terminalPods":{"retention":[{"keep":1}]}})",
                    "args.terminalPods.retention[0].keep: "},
        BadArgsCase{"RefusesNegativeRetention", "PodLifeTime",
                    R"({"maxPodLifeTimeSeconds":1,"terminalPods":{"keepSeconds":-1}})",
                    "args.terminalPods.keepSeconds: "},
        BadArgsCase{"RefusesFailedPodsWithoutEvicting", kFailedPods, R"({"terminalPods":{"evict":false}})",
                    "args.terminalPods.evict: "},
        BadArgsCase{"RefusesNegativeAges", kFailedPods, R"({"minPodLifetimeSeconds":-1})",
                    "args.minPodLifetimeSeconds: "},
        BadArgsCase{"RefusesTwoNamespaceLists", kFailedPods, R"({"namespaces":{"include":["a"],"exclude":["b"]}})",
                    "args.namespaces: only one of"},
        BadArgsCase{"KnowsItsConstraints", "RemovePodsViolatingTopologySpreadConstraint",
                    R"({"constraints":["DoNotSchedule","Never"]})", "args.constraints[1]: \"Never\" is not one of"}),
    [](const auto& test) { return test.param.name; });

}  // namespace terminal_pods_test
}  // namespace strategies
