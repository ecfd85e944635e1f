#include "cmd/drain/request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/meta/label_value.hpp"
#include "cmd/cli/completion.hpp"
#include "cmd/session/target.hpp"
#include "evictors/registry.hpp"
#include "test/builders/cluster.hpp"

namespace cmd::plugin {
namespace plugin_request_test {

using builders::PodBuilder;
using testing::HasSubstr;

const api::Pod kPod = PodBuilder("web-1").on("node-1").build();  // UID: uid-web-1

api::Evacuation of_pod(const std::string& name, api::EvacuationPhase phase) {
  api::Evacuation made;
  made.meta.ns = kPod.meta.ns;
  made.meta.name = name;
  made.spec.pod_ref = {kPod.meta.name, kPod.uid()};
  made.status.phase = phase;
  return made;
}

TEST(Claim, TakesTheUsualName) {
  const Claim claim = existing_evacuation(kPod, {});
  EXPECT_EQ(claim.free_name, api::evacuation_name("web-1", kPod.uid()));
  EXPECT_FALSE(claim.unfinished);
}

TEST(Claim, NumbersOnAfterFinishedOnes) {
  const std::string usual = api::evacuation_name("web-1", kPod.uid());
  const Claim claim = existing_evacuation(
      kPod, {of_pod(usual, api::EvacuationPhase::kFailed), of_pod(usual + "-2", api::EvacuationPhase::kCancelled)});
  EXPECT_EQ(claim.free_name, usual + "-3");
  EXPECT_FALSE(claim.unfinished);
}

TEST(Claim, FindsTheUnfinishedOneWhateverItsName) {
  const Claim claim = existing_evacuation(kPod, {of_pod("by-hand", api::EvacuationPhase::kRequesting)});
  ASSERT_TRUE(claim.unfinished);
  EXPECT_EQ(claim.unfinished->meta.name, "by-hand");
}

TEST(Claim, MatchesOneWithoutUidByItsPodsName) {
  api::Evacuation fresh = of_pod("by-hand", api::EvacuationPhase::kPending);
  fresh.spec.pod_ref.uid = {};
  EXPECT_TRUE(existing_evacuation(kPod, {fresh}).unfinished);
}

TEST(Drain, DoesNotAdoptATenantsDryRunOrSuspendedEvacuation) {
  api::Evacuation dry = of_pod("dry", api::EvacuationPhase::kPending);
  dry.spec.dry_run = true;
  api::Evacuation suspended = of_pod("suspended", api::EvacuationPhase::kPending);
  suspended.spec.suspend = true;
  EXPECT_FALSE(existing_evacuation(kPod, {dry, suspended}).unfinished);
  const api::Evacuation real = of_pod("real", api::EvacuationPhase::kPending);
  ASSERT_TRUE(existing_evacuation(kPod, {dry, suspended, real}).unfinished);
  EXPECT_EQ(existing_evacuation(kPod, {dry, suspended, real}).unfinished->meta.name, "real");
  suspended.status.phase = api::EvacuationPhase::kEvicting;
  EXPECT_TRUE(existing_evacuation(kPod, {suspended}).unfinished) << "it moves the pod all the same";
}

TEST(Claim, LeavesAnEarlierPodOfTheSameNameAlone) {
  api::Evacuation earlier = of_pod("web-1-old", api::EvacuationPhase::kRequesting);
  earlier.spec.pod_ref.uid = {"another"};
  EXPECT_FALSE(existing_evacuation(kPod, {earlier}).unfinished);
}

TEST(Request, IsValidAndCarriesTheRequest) {
  EvacuationRequest request{
      .requester = "alice", .reason = "why", .evictors = {"eviction-api"}, .grace_period_seconds = 5};
  request.drain = "node-1";
  request.decision_ttl = base::seconds(86'400);
  const api::Evacuation made = evacuation_for(kPod, "web-1-x", request, 999);
  EXPECT_TRUE(api::validate(made.spec, evictors::EvictorRegistry::builtin().names()).empty());
  EXPECT_EQ(made.meta.labels.value(kDrainLabel), "node-1");
  EXPECT_EQ(made.meta.labels.value(api::well_known::kNodeLabel), "node-1");
  EXPECT_EQ(made.spec.pod_ref.uid, kPod.uid());
  EXPECT_EQ(made.spec.priority, 999);
  EXPECT_EQ(made.spec.source.requester, "alice");
  EXPECT_TRUE(made.spec.source.policy.empty());
}

TEST(LabelValue, ShortensLongNamesWithoutMixingThemUp) {
  const std::string a = std::string(70, 'n') + ".a";
  const std::string b = std::string(70, 'n') + ".b";
  EXPECT_EQ(api::label_value("node-1"), "node-1");
  EXPECT_LE(api::label_value(a).size(), 63U);
  EXPECT_NE(api::label_value(a), api::label_value(b));
}

TEST(Objection, IsMadeToPodsThatCannotMove) {
  EXPECT_EQ(why_not_evacuable(kPod), "");
  EXPECT_THAT(why_not_evacuable(PodBuilder("p").on("n").owned_by("DaemonSet", "d").build()), HasSubstr("DaemonSet"));
  EXPECT_THAT(why_not_evacuable(PodBuilder("p").on("n").terminating().build()), HasSubstr("terminating"));
  EXPECT_THAT(why_not_evacuable(PodBuilder("p").build()), HasSubstr("not scheduled"));
}

struct TargetCase {
  const char* text;
  TargetKind otherwise;
  Target want;
};

TEST(ParseTarget, TakesKubectlsSpellings) {
  for (const TargetCase& c :
       {TargetCase{"web-1", TargetKind::kPod, {TargetKind::kPod, "web-1"}},
        TargetCase{"po/web-1", TargetKind::kEvacuation, {TargetKind::kPod, "web-1"}},
        TargetCase{"no/n", TargetKind::kPod, {TargetKind::kNode, "n"}},
        TargetCase{"dsp/b", TargetKind::kPod, {TargetKind::kPolicy, "b"}},
        TargetCase{"evacuation.evacuator.dev/e", TargetKind::kPod, {TargetKind::kEvacuation, "e"}}}) {
    const auto got = parse_target(c.text, c.otherwise);
    ASSERT_TRUE(got) << c.text;
    EXPECT_EQ(*got, c.want) << c.text;
  }
}

TEST(ParseTarget, ReportsErrors) {
  EXPECT_THAT(parse_target("pod/", TargetKind::kPod).error().message, HasSubstr("has no name"));
  EXPECT_THAT(parse_target("a/b/c", TargetKind::kPod).error().message, HasSubstr("has no name"));
  EXPECT_THAT(parse_target("secret/x", TargetKind::kPod).error().message, HasSubstr("use pod/, node/"));
}

TEST(Completions, OfferCommandsThenTheirFlags) {
  const std::vector<CommandCompletion> commands = {{"pod", "One pod", {"--wait"}}, {"node", "A node", {"--force"}}};
  EXPECT_EQ(completions(commands, {""}), "pod\tOne pod\nnode\tA node\n:4\n");
  EXPECT_EQ(completions(commands, {"no"}), "node\tA node\n:4\n");
  EXPECT_EQ(completions(commands, {"node", "x", "--f"}), "--force\n:4\n");
  EXPECT_EQ(completions(commands, {"node", ""}), ":4\n");
}

}  // namespace plugin_request_test
}  // namespace cmd::plugin
