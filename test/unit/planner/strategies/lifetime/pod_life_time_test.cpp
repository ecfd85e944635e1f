#include "planner/strategies/lifetime/pod_life_time.hpp"

#include <gmock/gmock.h>

#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace pod_life_time_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using builders::StrategyRun;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

struct CriteriaCase {
  std::string name;
  std::string args;
  PodBuilder pod;
  std::string want;  ///< Expected reason, empty if not nominated
};

class PodLifeTimeTest : public testing::TestWithParam<CriteriaCase> {};

TEST_P(PodLifeTimeTest, NominatesByCriteria) {
  PodBuilder pod = GetParam().pod;
  StrategyRun run(ClusterBuilder().add(NodeBuilder("n")).add(pod.on("n")));
  run.run("PodLifeTime", GetParam().args);
  const std::string got = run.sink.accepted.empty() ? "" : run.sink.reasons.at("p");
  EXPECT_EQ(got, GetParam().want);
}

PodBuilder aged(std::int64_t seconds) { return PodBuilder("p").older_by(base::seconds(seconds)); }

PodBuilder with_status(api::ContainerStatus status) {
  return PodBuilder("p").with([&](api::Pod& pod) { pod.container_statuses.push_back(std::move(status)); });
}

api::ContainerStatus waiting(std::string reason, bool init = false, bool ephemeral = false) {
  api::ContainerStatus status;
  status.waiting_reason = std::move(reason);
  status.is_init = init;
  status.is_ephemeral = ephemeral;
  return status;
}

api::ContainerStatus terminated(std::string reason, std::int32_t code, bool init = false, bool ephemeral = false) {
  api::ContainerStatus status;
  status.terminated_reason = std::move(reason);
  status.exit_code = code;
  status.is_init = init;
  status.is_ephemeral = ephemeral;
  return status;
}

PodBuilder with_condition(std::int64_t seconds_ago) {
  return PodBuilder("p").with([&](api::Pod& pod) {
    pod.conditions = {{"Ready", api::ConditionStatus::kFalse, "Sad", "", 0, kNoon - base::seconds(seconds_ago)}};
  });
}

INSTANTIATE_TEST_SUITE_P(
    Age, PodLifeTimeTest,
    testing::Values(
        CriteriaCase{"SparesAPodOfTheVeryAge", R"({"maxPodLifeTimeSeconds":600})", aged(600), ""},
        CriteriaCase{"TakesAPodOneSecondOlder", R"({"maxPodLifeTimeSeconds":600})", aged(601),
                     "age 10m1s is above 10m0s"},
        CriteriaCase{"RoundsTheAgeDown", R"({"maxPodLifeTimeSeconds":600})",
                     aged(600).with([](api::Pod& pod) { pod.meta.creation_timestamp -= base::milliseconds(999); }), ""},
        CriteriaCase{"SparesAPodOfTheFuture", R"({"maxPodLifeTimeSeconds":0})", aged(-5), ""},
        CriteriaCase{"SparesAPodOfUnknownAge", R"({"maxPodLifeTimeSeconds":0})",
                     PodBuilder("p").with([](api::Pod& pod) { pod.meta.creation_timestamp = {}; }), ""},
        CriteriaCase{"ShowsDays", R"({"maxPodLifeTimeSeconds":432000})", aged(7800 * 3600), "age 325d is above 5d"},
        CriteriaCase{"TakesAnyAgeAboveZero", R"({"maxPodLifeTimeSeconds":0})", aged(1), "age 1s is above 0s"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    States, PodLifeTimeTest,
    testing::Values(
        CriteriaCase{"TakesAPhase", R"({"states":["Pending"]})", PodBuilder("p").phase(api::PodPhase::kPending),
                     "state Pending"},
        CriteriaCase{"SparesOtherPhases", R"({"states":["Pending"]})", PodBuilder("p"), ""},
        CriteriaCase{"TakesAReasonOfThePod", R"({"states":["Shutdown"]})",
                     PodBuilder("p").with([](api::Pod& pod) { pod.status_reason = "Shutdown"; }), "state Shutdown"},
        CriteriaCase{"TakesAWaitingReason", R"({"states":["CrashLoopBackOff"]})",
                     with_status(waiting("CrashLoopBackOff")), "state CrashLoopBackOff"},
        CriteriaCase{"TakesATerminatedReason", R"({"states":["OOMKilled"]})", with_status(terminated("OOMKilled", 137)),
                     "state OOMKilled"},
        CriteriaCase{"IgnoresThePreviousState", R"({"states":["OOMKilled"]})", with_status([] {
                       api::ContainerStatus status;
                       status.last_terminated_reason = "OOMKilled";
                       return status;
                     }()),
                     ""},
        CriteriaCase{"SparesInitContainers", R"({"states":["ErrImagePull"]})",
                     with_status(waiting("ErrImagePull", true)), ""},
        CriteriaCase{"TakesInitContainersOnRequest", R"({"states":["ErrImagePull"],"includingInitContainers":true})",
                     with_status(waiting("ErrImagePull", true)), "state ErrImagePull"},
        CriteriaCase{"SparesEphemeralContainers", R"({"states":["ErrImagePull"],"includingInitContainers":true})",
                     with_status(waiting("ErrImagePull", false, true)), ""},
        CriteriaCase{"TakesEphemeralContainersOnRequest",
                     R"({"states":["ErrImagePull"],"includingEphemeralContainers":true})",
                     with_status(waiting("ErrImagePull", false, true)), "state ErrImagePull"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    ExitCodes, PodLifeTimeTest,
    testing::Values(
        CriteriaCase{"TakesACode", R"({"exitCodes":[1,137]})", with_status(terminated("Error", 137)), "exit code 137"},
        CriteriaCase{"SparesOtherCodes", R"({"exitCodes":[1]})", with_status(terminated("Error", 137)), ""},
        CriteriaCase{"SparesRunningContainers", R"({"exitCodes":[0]})", with_status({}), ""},
        CriteriaCase{"TakesInitContainersOnRequest", R"({"exitCodes":[1],"includingInitContainers":true})",
                     with_status(terminated("Error", 1, true)), "exit code 1"},
        CriteriaCase{"NeverTakesEphemeralContainers", R"({"exitCodes":[1],"includingEphemeralContainers":true})",
                     with_status(terminated("Error", 1, false, true)), ""}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Conditions, PodLifeTimeTest,
    testing::Values(
        CriteriaCase{"TakesAllFieldsTogether", R"({"conditions":[{"type":"Ready","status":"False","reason":"Sad"}]})",
                     with_condition(0), "condition Ready=False"},
        CriteriaCase{"SparesWhenOneDiffers", R"({"conditions":[{"type":"Ready","status":"True"}]})", with_condition(0),
                     ""},
        CriteriaCase{"TakesOneOfSeveral", R"({"conditions":[{"type":"X"},{"reason":"Sad"}]})", with_condition(0),
                     "condition Ready=False"},
        CriteriaCase{"TakesTheVeryTimeSinceTransition", R"({"conditions":[{"minTimeSinceLastTransitionSeconds":60}]})",
                     with_condition(60), "condition Ready=False"},
        CriteriaCase{"SparesAYoungerTransition", R"({"conditions":[{"minTimeSinceLastTransitionSeconds":60}]})",
                     with_condition(59), ""},
        CriteriaCase{"SparesATransitionOfTheFuture", R"({"conditions":[{"minTimeSinceLastTransitionSeconds":0}]})",
                     with_condition(-9), ""},
        CriteriaCase{"SparesAnUnknownTransition", R"({"conditions":[{"minTimeSinceLastTransitionSeconds":1}]})",
                     PodBuilder("p"), ""}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Scope, PodLifeTimeTest,
    testing::Values(
        CriteriaCase{"SparesOtherNamespaces", R"({"maxPodLifeTimeSeconds":1,"namespaces":{"include":["prod"]}})",
                     aged(9), ""},
        CriteriaCase{"SparesExcludedNamespaces", R"({"maxPodLifeTimeSeconds":1,"namespaces":{"exclude":["default"]}})",
                     aged(9), ""},
        CriteriaCase{"SparesOtherLabels", R"({"maxPodLifeTimeSeconds":1,"labelSelector":{"matchLabels":{"a":"b"}}})",
                     aged(9), ""},
        CriteriaCase{"TakesIncludedOwners", R"({"maxPodLifeTimeSeconds":1,"ownerKinds":{"include":["ReplicaSet"]}})",
                     aged(9), "age 9s is above 1s"},
        CriteriaCase{"SparesOtherOwners", R"({"maxPodLifeTimeSeconds":1,"ownerKinds":{"include":["Job"]}})", aged(9),
                     ""},
        CriteriaCase{"SparesExcludedOwners", R"({"maxPodLifeTimeSeconds":1,"ownerKinds":{"exclude":["ReplicaSet"]}})",
                     aged(9), ""},
        CriteriaCase{"NeedsAllCriteria", R"({"maxPodLifeTimeSeconds":1,"states":["Pending"]})", aged(9), ""},
        CriteriaCase{"TellsAllCriteria", R"({"maxPodLifeTimeSeconds":1,"states":["Running"]})", aged(9),
                     "age 9s is above 1s, state Running"}),
    [](const auto& test) { return test.param.name; });

constexpr auto kOld = R"({"maxPodLifeTimeSeconds":60})";

ClusterBuilder four_old_pods() {
  return ClusterBuilder()
      .add(NodeBuilder("n1"))
      .add(NodeBuilder("n2"))
      .add(PodBuilder("b").on("n2").older_by(base::seconds(300)))
      .add(PodBuilder("a").on("n2").older_by(base::seconds(100)))
      .add(PodBuilder("c").on("n1").older_by(base::seconds(200)))
      .add(PodBuilder("d").on("n1").older_by(base::seconds(200)));
}

TEST(PodLifeTime, TakesTheOldestFirstOverAllNodes) {
  StrategyRun run(four_old_pods());
  EXPECT_THAT(run.run("PodLifeTime", kOld).sink.accepted, ElementsAre("b", "c", "d", "a"));
}

TEST(PodLifeTime, ContinuesAfterANodeLimit) {
  StrategyRun run(four_old_pods());
  run.sink.answer = [](const api::Pod& pod) {
    return pod.node_name.value == "n1" ? NominationResult::kNodeLimit : NominationResult::kAccepted;
  };
  EXPECT_THAT(run.run("PodLifeTime", kOld).sink.accepted, ElementsAre("b", "a"));
}

TEST(PodLifeTime, ContinuesAfterARefusal) {
  StrategyRun run(four_old_pods());
  run.sink.answer = [](const api::Pod& pod) {
    return pod.meta.name == "b" ? NominationResult::kRefused : NominationResult::kAccepted;
  };
  EXPECT_THAT(run.run("PodLifeTime", kOld).sink.accepted, ElementsAre("c", "d", "a"));
}

TEST(PodLifeTime, StopsAtTheTotalLimit) {
  StrategyRun run(four_old_pods());
  run.sink.answer = [](const api::Pod& pod) {
    return pod.meta.name == "c" ? NominationResult::kTotalLimit : NominationResult::kAccepted;
  };
  EXPECT_THAT(run.run("PodLifeTime", kOld).sink.offered, ElementsAre("b", "c"));
}

TEST(PodLifeTime, SeesTerminalPods) {
  StrategyRun run(ClusterBuilder().add(NodeBuilder("n")).add(PodBuilder("p").on("n").phase(api::PodPhase::kFailed)));
  EXPECT_THAT(run.run("PodLifeTime", R"({"states":["Failed"],"terminalPods":{"evict":true}})").sink.accepted,
              ElementsAre("p"));
}

TEST(PodLifeTime, ReportsProtectedPods) {
  StrategyRun run(ClusterBuilder()
                      .add(NodeBuilder("n"))
                      .add(PodBuilder("bare").on("n").bare())
                      .add(PodBuilder("young").on("n").bare().older_by(base::seconds(1)))
                      .add(PodBuilder("stuck").on("n")));
  run.evictability.node_fit = true;
  run.run("PodLifeTime", kOld);
  EXPECT_THAT(run.sink.accepted, IsEmpty());
  EXPECT_THAT(run.sink.refusals, ElementsAre(Pair("bare", "BarePod"), Pair("stuck", "NoOtherNodeFits")));
}

TEST(PodLifeTime, IgnoresPodsThatAreAlreadyMoving) {
  StrategyRun run(four_old_pods());
  run.what_if().move(run.cluster().find_pod("default", "b").value(), 0);
  EXPECT_THAT(run.run("PodLifeTime", kOld).sink.accepted, ElementsAre("c", "d", "a"));
}

TEST(PodLifeTime, IgnoresPodsWithoutANode) {
  StrategyRun run(ClusterBuilder().add(NodeBuilder("n")).add(PodBuilder("p")));
  EXPECT_THAT(run.run("PodLifeTime", kOld).sink.accepted, IsEmpty());
}

}  // namespace pod_life_time_test
}  // namespace strategies
