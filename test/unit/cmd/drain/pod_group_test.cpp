#include "cmd/drain/pod_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/drain/request.hpp"
#include "test/builders/cluster.hpp"

namespace cmd::plugin {
namespace plugin_pod_group_test {

using builders::PodBuilder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PodBuilder rank(const std::string& name, const std::string& node) {
  return PodBuilder(name).on(node).annotate(api::well_known::kPodGroupKey, "trainer");
}

api::Evacuation evacuation_of(const api::Pod& pod, std::int32_t attempt,
                              api::EvacuationPhase phase = api::EvacuationPhase::kPending) {
  api::Evacuation made = evacuation_for(pod, pod.meta.name, {});
  made.status.phase = phase;
  made.status.attempt = attempt;
  return made;
}

std::vector<std::string> names_of(const std::vector<api::Pod>& pods) {
  std::vector<std::string> names;
  for (const api::Pod& pod : pods) names.push_back(pod.meta.name);
  return names;
}

const api::Pod kA = rank("a", "n1").build();
const api::Pod kB = rank("b", "n2").build();
const api::Pod kC = rank("c", "n3").build();

struct RestCase {
  const char* name;
  std::vector<api::Pod> chosen;
  PodGroupNamespaces world;
  std::vector<std::string> want;  ///< missing members of the only incomplete group, empty if all groups are complete
};
void PrintTo(const RestCase& c, std::ostream* out) { *out << c.name; }

class Rest : public testing::TestWithParam<RestCase> {};

TEST_P(Rest, FindsMembersWithoutAnEvacuation) {
  const auto rests = incomplete_pod_groups(GetParam().chosen, GetParam().world);
  EXPECT_EQ(rests.empty() ? std::vector<std::string>{} : names_of(rests.at(0).missing), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    PodGroups, Rest,
    testing::Values(
        RestCase{"APodWithoutGroup", {PodBuilder("web").on("n1").build()}, {{kA, kB}, {}}, {}},
        RestCase{"TheOthers", {kB}, {{kA, kB, kC, PodBuilder("web").build()}, {}}, {"a", "c"}},
        RestCase{"NobodyWhenAllAreChosen", {kA, kB, kC}, {{kA, kB, kC}, {}}, {}},
        RestCase{"NotThoseThatAreAsked", {kA}, {{kA, kB, kC}, {evacuation_of(kB, 0)}}, {"c"}},
        RestCase{"ThoseOfEndedEvacuations",
                 {kA},
                 {{kA, kB}, {evacuation_of(kB, 0, api::EvacuationPhase::kCancelled)}},
                 {"b"}},
        RestCase{
            "NotForOneThatIsOnItsWay", {kA}, {{kA, kB}, {evacuation_of(kA, 1, api::EvacuationPhase::kPreparing)}}, {}},
        RestCase{"ForOneThatWaits", {kA}, {{kA, kB}, {evacuation_of(kA, 0)}}, {"b"}},
        RestCase{"NotTheTerminating", {kA}, {{kA, rank("b", "n2").terminating().build()}, {}}, {}},
        RestCase{"NotOtherNamespaces", {kA}, {{kA, rank("b", "n2").ns("other").build()}, {}}, {}},
        RestCase{"ThoseThatLeaveFirstFirst",
                 {kA},
                 {{kA, rank("b", "n2").annotate(api::well_known::kPodGroupOrder, "1").build(), kC}, {}},
                 {"c", "b"}},
        RestCase{
            "RanksOfAnIndexedJob",
            {PodBuilder("t-0").on("n1").owned_by("Job", "t").annotate(api::well_known::kCompletionIndex, "0").build()},
            {{PodBuilder("t-1").on("n2").owned_by("Job", "t").annotate(api::well_known::kCompletionIndex, "1").build()},
             {}},
            {"t-1"}},
        RestCase{"OfOneReplicaOfALeaderWorkerSet",
                 {PodBuilder("llm-0")
                      .on("n1")
                      .label(api::well_known::kLwsName, "llm")
                      .label(api::well_known::kLwsGroupIndex, "0")
                      .build()},
                 {{PodBuilder("llm-0-1")
                       .on("n2")
                       .label(api::well_known::kLwsName, "llm")
                       .label(api::well_known::kLwsGroupIndex, "0")
                       .build(),
                   PodBuilder("llm-1")
                       .on("n2")
                       .label(api::well_known::kLwsName, "llm")
                       .label(api::well_known::kLwsGroupIndex, "1")
                       .build()},
                  {}},
                 {"llm-0-1"}}),
    [](const auto& test) { return test.param.name; });

TEST(IncompletePodGroup, SaysWhyItCanNeverBeWhole) {
  const auto rests = incomplete_pod_groups({kA}, {{kA, rank("b", "").build()}, {}});
  ASSERT_EQ(rests.size(), 1U);
  EXPECT_EQ(why_not_evacuable(rests[0]), "b of its members cannot leave: it is not scheduled yet");
}

TEST(IncompletePodGroup, NamesMembersWithTheirNodes) {
  EXPECT_EQ(members_text({kA, rank("x", "").build()}), "a (n1), x");
  EXPECT_EQ(members_text({kA, kA, kA, kA, kA, kA, kA}), "a (n1), a (n1), a (n1), a (n1), a (n1) and 2 more");
}

DrainPlan plan_of(std::vector<api::Pod> pods) {
  return plan_drain(std::move(pods), {}, [](const api::Pod&) { return std::nullopt; });
}

TEST(DrainOfPodGroups, RefusesWithTheFlagThatTakesTheOthersAlong) {
  DrainPlan plan = plan_of({kA, PodBuilder("web").on("n1").build()});
  add_pod_groups(plan, {{kA, kB}, {}}, {}, false);
  ASSERT_EQ(plan.refused.size(), 1U);
  EXPECT_EQ(plan.refused[0].pod.name, "a");
  EXPECT_EQ(plan.refused[0].verdict.flag, "--whole-group");
  EXPECT_THAT(plan.refused[0].verdict.reason, HasSubstr("have no Evacuation: b (n2)"));
  ASSERT_EQ(plan.moves.size(), 1U);
  EXPECT_EQ(plan.moves[0].pod.meta.name, "web");
}

TEST(DrainOfPodGroups, BringsTheOthersAlongBehindTheFirst) {
  DrainPlan plan = plan_of({PodBuilder("cheap").on("n1").priority(-1).build(), kA, PodBuilder("web").on("n1").build()});
  add_pod_groups(plan, {{kA, kB, kC}, {}}, {}, true);
  std::vector<std::string> names;
  for (const DrainMove& move : plan.moves) names.push_back(move.pod.meta.name);
  EXPECT_THAT(names, ElementsAre("cheap", "a", "b", "c", "web"));
  EXPECT_EQ(plan.moves[2].priority, plan.moves[1].priority);
  EXPECT_EQ(plan.moves[2].warning, "leaves n2 with PodGroup trainer");
  EXPECT_THAT(plan.refused, IsEmpty());
}

TEST(DrainOfPodGroups, JudgesTheOthersByTheRulesOfTheNode) {
  const api::Pod bare = rank("b", "n2").bare().build();
  const api::Pod null_recorder = rank("c", "").build();
  DrainPlan plan = plan_of({kA});
  add_pod_groups(plan, {{kA, bare, null_recorder}, {}}, {}, true);
  ASSERT_EQ(plan.refused.size(), 2U);
  EXPECT_EQ(plan.refused[0].verdict.flag, "--force");
  EXPECT_THAT(plan.refused[0].verdict.reason, HasSubstr("leaves n2 with PodGroup trainer, and has no controller"));
  EXPECT_EQ(plan.refused[1].verdict.flag, "");
  EXPECT_THAT(plan.refused[1].verdict.reason, HasSubstr("but it is not scheduled yet"));
}

}  // namespace plugin_pod_group_test
}  // namespace cmd::plugin
