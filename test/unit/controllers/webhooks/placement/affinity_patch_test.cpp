#include "controllers/webhooks/placement/affinity_patch.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/core/codec.hpp"

namespace controllers::placement {
namespace affinity_patch_test {

using api::Json;

Json parsed(const char* text) { return Json::parse(text); }

api::PlacementHint hint(api::PlacementPolicy policy) { return {{"node-b"}, policy, base::seconds(60)}; }

std::string mark_of(api::PlacementPolicy policy) { return "evac/uid/" + std::string(to_string(policy)) + "/node-b"; }

/// Returns the pod with the patch applied by nlohmann's RFC 6902 implementation.
Json hinted(const Json& pod, api::PlacementPolicy policy) {
  return pod.patch(hint_patch(pod, hint(policy), mark_of(policy)));
}

struct PatchCase {
  const char* name;
  api::PlacementPolicy policy;
  const char* affinity;  ///< spec.affinity before; empty if absent
  const char* want;      ///< spec.affinity after; empty if the pod is not patched
};

/// Returns the pod as the caches show it after it is bound.
api::Pod bound(Json pod) {
  pod["spec"]["nodeName"] = "node-b";
  return *api::decode_pod(pod.dump());
}

constexpr auto kPreferred = api::PlacementPolicy::kPreferred;
constexpr auto kRequired = api::PlacementPolicy::kRequired;

class PatchTest : public testing::TestWithParam<PatchCase> {};

TEST_P(PatchTest, AddsTheNodeToTheAffinity) {
  Json pod = {{"metadata", {{"name", "p"}}}, {"spec", {{"containers", Json::array()}}}};
  if (*GetParam().affinity != '\0') pod["spec"]["affinity"] = parsed(GetParam().affinity);
  const Json after = hinted(pod, GetParam().policy);
  if (*GetParam().want == '\0') {
    EXPECT_EQ(after, pod);
    return;
  }
  EXPECT_EQ(after["spec"]["affinity"], parsed(GetParam().want));
  EXPECT_EQ(after["metadata"]["annotations"], (Json{{"evacuator.dev/placement", mark_of(GetParam().policy)}}));
}

#define NODE_B R"({"key": "metadata.name", "operator": "In", "values": ["node-b"]})"
#define PREFERRED_B R"({"weight": 100, "preference": {"matchFields": [)" NODE_B "]}}"

INSTANTIATE_TEST_SUITE_P(
    Pods, PatchTest,
    testing::Values(
        PatchCase{"PreferredWithoutAffinity", kPreferred, "",
                  R"({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [)" PREFERRED_B "]}}"},
        PatchCase{"PreferredWithNullAffinity", kPreferred, "null",
                  R"({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [)" PREFERRED_B "]}}"},
        PatchCase{
            "PreferredBesidePodAffinity", kPreferred, R"({"podAffinity": {}})",
            R"({"podAffinity": {}, "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [)" PREFERRED_B
            "]}}"},
        PatchCase{"PreferredIsAppended", kPreferred,
                  R"({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7}]}})",
                  R"({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7}, )" PREFERRED_B
                  "]}}"},
        PatchCase{"RequiredWithoutAny", kRequired, R"({"nodeAffinity": {}})",
                  R"({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                      {"matchFields": [)" NODE_B "]}]}}}"},
        PatchCase{"RequiredNarrowsEachTerm", kRequired,
                  R"({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                      {"matchExpressions": [{"key": "zone", "operator": "Exists"}]},
                      {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["x"]}]}]}}})",
                  R"({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                      {"matchExpressions": [{"key": "zone", "operator": "Exists"}], "matchFields": [)" NODE_B R"(]},
                      {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["x"]}, )" NODE_B
                  "]}]}}}"},
        PatchCase{"RequiredLeavesTermsThatMatchNothing", kRequired,
                  R"({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                      {}, {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}}})",
                  R"({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                      {}, {"matchExpressions": [{"key": "zone", "operator": "Exists"}], "matchFields": [)" NODE_B
                  "]}]}}}"},
        PatchCase{
            "RequiredOfAPodThatGoesNowhere", kRequired,
            R"({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}})", ""},
        PatchCase{"RequiredFieldsThatAreNoList", kRequired,
                  R"({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                      {"matchExpressions": [{"key": "zone", "operator": "Exists"}], "matchFields": {"a": 1}}]}}})",
                  ""},
        PatchCase{"AffinityThatIsNone", kPreferred, R"("x")", ""},
        PatchCase{"PreferredThatIsNoList", kPreferred,
                  R"({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": {"a": 1}}})", ""}),
    [](const auto& test) { return test.param.name; });

bool same(const std::shared_ptr<const api::Affinity>& a, const std::shared_ptr<const api::Affinity>& b) {
  return a == b || (a && b && *a == *b);
}

/// The planner derives the requirements of the next pod from this pod. The owner's template does not have the hint.
TEST_P(PatchTest, IsNotTakenForThePodsOwnWishOnceItRuns) {
  Json pod = {{"metadata", {{"name", "p"}}}, {"spec", {{"containers", Json::array()}}}};
  if (*GetParam().affinity != '\0') pod["spec"]["affinity"] = parsed(GetParam().affinity);
  const bool has_empty_one = pod["spec"].value("affinity", Json()) == Json{{"nodeAffinity", Json::object()}};
  api::Pod want = bound(pod);
  if (has_empty_one) want.affinity = nullptr;
  for (int round = 0; round < 2; ++round) {
    // A template that was copied from a hinted pod already has the annotation.
    if (round == 1) pod["metadata"]["annotations"] = {{"evacuator.dev/placement", "old/uid/Preferred/node-x"}};
    const api::Pod got = bound(hinted(pod, GetParam().policy));
    EXPECT_TRUE(same(got.affinity, want.affinity)) << "round " << round;
  }
}

TEST(HintPatch, CountsWhileThePodWaitsForItsNode) {
  const Json pod = {{"metadata", Json::object()}, {"spec", Json::object()}};
  const auto waiting = api::decode_pod(hinted(pod, kRequired).dump());
  ASSERT_NE(waiting->affinity, nullptr);
  EXPECT_TRUE(waiting->affinity->required_node_terms);
}

TEST(HintPatch, TakesOnlyOneOfTwoEqualTermsAway) {
  const Json own = {{"metadata", Json::object()}, {"spec", {{"affinity", parsed(R"({"nodeAffinity": {
                      "preferredDuringSchedulingIgnoredDuringExecution": [)" PREFERRED_B R"(],
                      "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                        {"matchFields": [)" NODE_B "]}]}}}")}}}};
  for (const auto policy : {kPreferred, kRequired})
    EXPECT_TRUE(same(bound(hinted(own, policy)).affinity, bound(own).affinity)) << to_string(policy);
}

TEST(HintPatch, AForgedMarkTakesNothingElseAway) {
  for (const char* mark : {"", "/", "//", "Required/node-b", "a/b/Required/", "a/b/Required/node-c",
                           "a/b/Always/node-b", "a/b/Preferred/node-b/", "a/b"}) {
    Json pod = {{"metadata", Json::object()}, {"spec", Json::object()}};
    pod["spec"]["affinity"] = parsed(R"({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms": [{"matchFields": [)" NODE_B "]}]}}}");
    const api::Pod want = bound(pod);
    pod["metadata"]["annotations"]["evacuator.dev/placement"] = mark;
    EXPECT_TRUE(same(bound(pod).affinity, want.affinity)) << mark;
  }
}

TEST(HintPatch, KeepsOtherAnnotations) {
  const Json pod = {{"metadata", {{"annotations", {{"a", "b"}, {"evacuator.dev/placement", "copied"}}}}},
                    {"spec", Json::object()}};
  EXPECT_EQ(hinted(pod, kPreferred)["metadata"]["annotations"],
            (Json{{"a", "b"}, {"evacuator.dev/placement", mark_of(kPreferred)}}));
}

TEST(HintPatch, LeavesAPodAloneThatIsBoundAlready) {
  const Json pod = {{"metadata", Json::object()}, {"spec", {{"nodeName", "node-a"}}}};
  EXPECT_TRUE(hint_patch(pod, hint(kPreferred), "m").empty());
}

TEST(HintPatch, LeavesAPodUnchangedThatTheAnnotationWouldMakeInvalid) {
  const std::string mark = mark_of(kPreferred);
  const std::size_t ours = std::string("evacuator.dev/placement").size() + mark.size();
  for (const bool fits : {true, false}) {
    Json pod = {{"metadata", Json::object()}, {"spec", Json::object()}};
    Json& annotations = pod["metadata"]["annotations"];
    annotations["evacuator.dev/placement"] = std::string(1000, 'c');  // replaced by the new mark
    annotations["big"] = std::string(kMaxAnnotationBytes - ours - 3 + (fits ? 0 : 1), 'x');
    EXPECT_EQ(hint_patch(pod, hint(kPreferred), mark).empty(), !fits);
  }
}

TEST(HintPatch, IsBoundedByTheNumberOfTerms) {
  Json terms = Json::array();
  const Json term = {{"matchExpressions", Json::array({{{"key", "a"}, {"operator", "Exists"}}})}};
  for (std::size_t i = 0; i < kMaxNodeTerms; ++i) terms.push_back(term);
  Json pod = {{"metadata", Json::object()}, {"spec", Json::object()}};
  Json& list =
      pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  list = terms;
  EXPECT_EQ(hint_patch(pod, hint(kRequired), "m").size(), kMaxNodeTerms + 1);
  list.push_back(term);
  EXPECT_TRUE(hint_patch(pod, hint(kRequired), "m").empty());
}

}  // namespace affinity_patch_test
}  // namespace controllers::placement
