#include "controllers/placement/affinity_patch.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace controllers::placement {
namespace affinity_patch_test {

using api::Json;

Json parsed(const char* text) { return Json::parse(text); }

api::PlacementHint hint(api::PlacementPolicy policy) { return {{"node-b"}, policy, base::seconds(60)}; }

/// The pod with the patch on it: what nlohmann's own RFC 6902 makes of it.
Json hinted(const Json& pod, api::PlacementPolicy policy) {
  return pod.patch(hint_patch(pod, hint(policy), "evac/uid"));
}

struct PatchCase {
  const char* name;
  api::PlacementPolicy policy;
  const char* affinity;  ///< spec.affinity before; "": no such member
  const char* want;      ///< spec.affinity after; "": the pod is left alone
};

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
  EXPECT_EQ(after["metadata"]["annotations"], (Json{{"evacuator.dev/placement", "evac/uid"}}));
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
    [](const auto& info) { return info.param.name; });

TEST(HintPatch, KeepsOtherAnnotations) {
  const Json pod = {{"metadata", {{"annotations", {{"a", "b"}, {"evacuator.dev/placement", "copied"}}}}},
                    {"spec", Json::object()}};
  EXPECT_EQ(hinted(pod, kPreferred)["metadata"]["annotations"],
            (Json{{"a", "b"}, {"evacuator.dev/placement", "evac/uid"}}));
}

TEST(HintPatch, LeavesAPodAloneThatIsBoundAlready) {
  const Json pod = {{"metadata", Json::object()}, {"spec", {{"nodeName", "node-a"}}}};
  EXPECT_TRUE(hint_patch(pod, hint(kPreferred), "m").empty());
}

TEST(HintPatch, IsBoundedByTheNumberOfTerms) {
  Json terms = Json::array();
  const Json term = {{"matchExpressions", Json::array({{{"key", "a"}, {"operator", "Exists"}}})}};
  for (std::size_t i = 0; i < kMostNodeTerms; ++i) terms.push_back(term);
  Json pod = {{"metadata", Json::object()}, {"spec", Json::object()}};
  Json& list =
      pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  list = terms;
  EXPECT_EQ(hint_patch(pod, hint(kRequired), "m").size(), kMostNodeTerms + 1);
  list.push_back(term);
  EXPECT_TRUE(hint_patch(pod, hint(kRequired), "m").empty());
}

}  // namespace affinity_patch_test
}  // namespace controllers::placement
