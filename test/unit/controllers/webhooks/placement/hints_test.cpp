#include "controllers/webhooks/placement/hints.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/meta/well_known.hpp"
#include "base/base64.hpp"
#include "controllers/evacuation/origin/spec_hash.hpp"
#include "controllers/webhooks/placement/webhook.hpp"

namespace controllers::placement {
namespace hints_test {

using api::EvacuationPhase;
using api::Json;

const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");

/// Returns an Evacuation of pod shop/web-1, owned by ReplicaSet "web" (UID rs-1), whose eviction was granted.
api::Evacuation leaving(const std::string& name = "e1") {
  api::Evacuation evacuation;
  evacuation.meta.ns = "shop";
  evacuation.meta.name = name;
  evacuation.meta.uid = "uid-" + name;
  evacuation.spec.pod_ref = {"web-1", {"pod-1"}};
  evacuation.spec.placement = api::PlacementHint{{"node-b"}};
  evacuation.status.phase = EvacuationPhase::kEvicting;
  evacuation.status.started_at = kNoon;
  evacuation.status.pod_owner = api::OwnerReference{"apps/v1", "ReplicaSet", "web", "rs-1", true};
  evacuation.status.spec_hash = spec_hash(evacuation.spec);
  return evacuation;
}

PodReview creation(const std::string& uid = "r1") {
  PodReview review;
  review.uid = uid;
  review.ns = "shop";
  review.owner = {"apps/v1", "ReplicaSet", "web", "rs-1", true};
  review.creates_pod = true;
  return review;
}

api::Node ready_node(const std::string& name = "node-b") {
  api::Node node;
  node.meta.name = name;
  node.conditions.push_back({"Ready", api::ConditionStatus::kTrue, "", "", 0, {}});
  return node;
}

class HintsTest : public testing::Test {
 protected:
  HintsTest() {
    add_placement_indexes(evacuations, pods);
    add(ready_node());
  }

  void add(api::Evacuation evacuation) {
    evacuations.put(std::make_shared<const api::Evacuation>(std::move(evacuation)));
  }
  void add(api::Node node) { nodes.put(std::make_shared<const api::Node>(std::move(node))); }
  /// Adds a pod with the mark of `evacuation`.
  void add_hinted_pod(const api::Evacuation& evacuation, const std::string& owner = "rs-1") {
    api::Pod pod;
    pod.meta.ns = "shop";
    pod.meta.name = "web-2";
    pod.meta.owner_references = {{"apps/v1", "ReplicaSet", "web", owner, true}};
    pod.meta.annotations =
        api::StringMap{{std::string(api::well_known::kPlacementAnnotation), api::placement_mark(evacuation)}};
    pods.put(std::make_shared<const api::Pod>(std::move(pod)));
  }
  std::string take(const PodReview& review) {
    const auto found = hints.take(review);
    return found ? found->meta.name : "";
  }

  base::ManualClock clock{kNoon};
  kube::Store<api::Evacuation> evacuations;
  kube::Store<api::Pod> pods;
  kube::Store<api::Node> nodes;
  Hints hints{evacuations, pods, nodes, clock, clock};
};

struct OpenCase {
  const char* name;
  void (*edit)(api::Evacuation&);
  bool want;
};
class OpenTest : public testing::TestWithParam<OpenCase> {};

TEST_P(OpenTest, OnlyWhileItsPodLeaves) {
  api::Evacuation evacuation = leaving();
  GetParam().edit(evacuation);
  EXPECT_EQ(is_open(evacuation, kNoon + base::seconds(60)), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Evacuations, OpenTest,
    testing::Values(OpenCase{"Evicting", [](auto&) {}, true},
                    OpenCase{"Verifying", [](auto& e) { e.status.phase = EvacuationPhase::kVerifying; }, true},
                    OpenCase{"InProgress", [](auto& e) { e.status.phase = EvacuationPhase::kInProgress; }, true},
                    OpenCase{"AboutToAsk",
                             [](auto& e) {
                               e.status.phase = EvacuationPhase::kRequesting;
                               e.status.intent = api::EvacuationIntent{};
                             },
                             true},
                    OpenCase{"BlockedByABudget",
                             [](auto& e) {
                               e.status.phase = EvacuationPhase::kRequesting;
                               e.status.intent = api::EvacuationIntent{};
                               e.status.intent->resolved = true;
                             },
                             false},
                    OpenCase{"Preparing", [](auto& e) { e.status.phase = EvacuationPhase::kPreparing; }, false},
                    OpenCase{"Pending", [](auto& e) { e.status.phase = EvacuationPhase::kPending; }, false},
                    OpenCase{"Succeeded", [](auto& e) { e.status.phase = EvacuationPhase::kSucceeded; }, false},
                    OpenCase{"WithoutAHint", [](auto& e) { e.spec.placement.reset(); }, false},
                    OpenCase{"DryRun", [](auto& e) { e.spec.dry_run = true; }, false},
                    OpenCase{"Taken",
                             [](auto& e) {
                               e.status.placement = api::PlacedPod{"web-2", "u"};
                             },
                             false},
                    OpenCase{"Expired", [](auto& e) { e.status.started_at = kNoon - base::seconds(541); }, false},
                    OpenCase{"NotYetExpired", [](auto& e) { e.status.started_at = kNoon - base::seconds(539); }, true},
                    OpenCase{"NotYetAccepted", [](auto& e) { e.status.spec_hash.clear(); }, false},
                    OpenCase{"Unreadable", [](auto& e) { e.spec_problem = "spec.x: unknown"; }, false}),
    [](const auto& test) { return test.param.name; });

TEST_F(HintsTest, AHintChangedAfterItsAcceptanceIsNotUsed) {
  add(ready_node("node-c"));
  api::Evacuation changed = leaving("e1");
  changed.spec.placement->node_name = {"node-c"};
  add(changed);
  EXPECT_EQ(take(creation("r1")), "");
  add(leaving("e2"));
  EXPECT_EQ(take(creation("r1")), "e2") << "it keeps nobody else's";
}

struct NodeCase {
  const char* name;
  void (*edit)(api::Node&);
};
class NodeTest : public HintsTest, public testing::WithParamInterface<NodeCase> {};

TEST_P(NodeTest, IsHintedOnlyWhileItTakesPods) {
  add(leaving("e1"));
  api::Node node = ready_node();
  GetParam().edit(node);
  nodes.remove({"", "node-b"});
  add(node);
  EXPECT_EQ(take(creation("r1")), "");
  nodes.remove(node.meta.key());
  add(ready_node());
  EXPECT_EQ(take(creation("r1")), "e1");
}

INSTANTIATE_TEST_SUITE_P(
    Hints, NodeTest,
    testing::Values(NodeCase{"Unknown", [](api::Node& node) { node.meta.name = "node-c"; }},
                    NodeCase{"Cordoned", [](api::Node& node) { node.unschedulable = true; }},
                    NodeCase{"NotReady",
                             [](api::Node& node) { node.conditions[0].status = api::ConditionStatus::kUnknown; }},
                    NodeCase{"OnItsWayOut", [](api::Node& node) { node.meta.deletion_timestamp = kNoon; }}),
    [](const auto& test) { return test.param.name; });

TEST_F(HintsTest, ChecksOnlyTheOldestHints) {
  add(ready_node("node-c"));
  for (std::size_t i = 0; i < Hints::kMaxInScope; ++i) {
    api::Evacuation changed = leaving(fmt::format("changed-{:02}", i));
    changed.status.started_at = kNoon - base::seconds(1);
    changed.spec.placement->node_name = {"node-c"};
    add(changed);
  }
  add(leaving("e1"));
  EXPECT_EQ(take(creation("r1")), "") << "each costs a hash";
}

TEST_F(HintsTest, ManyOfOneOwnerAreGivenOneByOne) {
  for (std::size_t i = 0; i <= Hints::kMaxInScope; ++i) add(leaving(fmt::format("e-{:02}", i)));
  for (std::size_t i = 0; i <= Hints::kMaxInScope; ++i)
    EXPECT_EQ(take(creation(fmt::format("r{}", i))), fmt::format("e-{:02}", i));
}

TEST_F(HintsTest, OneHintIsForOnePod) {
  add(leaving("e1"));
  EXPECT_EQ(take(creation("r1")), "e1");
  EXPECT_EQ(take(creation("r2")), "");
}

TEST_F(HintsTest, TheSameRequestGetsTheSameAnswer) {
  add(leaving("e1"));
  add(leaving("e2"));
  EXPECT_EQ(take(creation("r1")), "e1");
  EXPECT_EQ(take(creation("r1")), "e1");
  EXPECT_EQ(take(creation("r2")), "e2");
}

TEST_F(HintsTest, ADryRunTakesNothing) {
  add(leaving("e1"));
  PodReview dry = creation("r1");
  dry.dry_run = true;
  EXPECT_EQ(take(dry), "e1");
  EXPECT_EQ(take(creation("r2")), "e1");
}

TEST_F(HintsTest, AReplicaSeesHintsUsedByAnother) {
  add(leaving("e1"));
  add_hinted_pod(leaving("e1"));
  EXPECT_EQ(take(creation("r2")), "");
}

TEST_F(HintsTest, AMarkOnAForeignPodTakesNothing) {
  add(leaving("e1"));
  add_hinted_pod(leaving("e1"), "rs-2");
  EXPECT_EQ(take(creation("r2")), "e1");
}

TEST_F(HintsTest, IsFreeAgainWhenThePodNeverCame) {
  add(leaving("e1"));
  EXPECT_EQ(take(creation("r1")), "e1");
  clock.advance(Hints::kVisibleWithin);
  EXPECT_EQ(take(creation("r2")), "e1");
}

TEST_F(HintsTest, TheOldestGoesFirst) {
  api::Evacuation older = leaving("e2");
  older.status.started_at = kNoon - base::seconds(5);
  add(leaving("e1"));
  add(older);
  EXPECT_EQ(take(creation("r1")), "e2");
  EXPECT_EQ(take(creation("r2")), "e1");
}

TEST_F(HintsTest, NeverLeavesItsNamespaceOrOwner) {
  add(leaving("e1"));
  PodReview elsewhere = creation("r1");
  elsewhere.ns = "bank";
  EXPECT_EQ(take(elsewhere), "");
  PodReview of_another = creation("r2");
  of_another.owner.uid = "rs-2";
  EXPECT_EQ(take(of_another), "");
  PodReview bare = creation("r3");
  bare.owner = {};
  EXPECT_EQ(take(bare), "");
}

TEST_F(HintsTest, AStatefulSetsPodIsKnownByItsName) {
  api::Evacuation evacuation = leaving("e1");
  evacuation.spec.pod_ref.name = "db-1";
  evacuation.status.spec_hash = spec_hash(evacuation.spec);
  add(evacuation);
  PodReview other = creation("r1");
  other.owner.kind = "StatefulSet";
  other.pod_name = "db-0";
  EXPECT_EQ(take(other), "");
  other.pod_name = "db-1";
  EXPECT_EQ(take(other), "e1");
}

// --- complete response

class WebhookTest : public HintsTest {
 protected:
  Json review(const Json& pod) const {
    return {{"apiVersion", "admission.k8s.io/v1"},
            {"kind", "AdmissionReview"},
            {"request",
             {{"uid", "r1"},
              {"operation", "CREATE"},
              {"namespace", "shop"},
              {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
              {"object", pod}}}};
  }
  Json pod() const {
    return {{"metadata",
             {{"generateName", "web-"},
              {"ownerReferences", Json::array({{{"apiVersion", "apps/v1"},
                                                {"kind", "ReplicaSet"},
                                                {"name", "web"},
                                                {"uid", "rs-1"},
                                                {"controller", true}}})}}},
            {"spec", {{"containers", Json::array()}}}};
  }
  /// Returns the response to `body`.
  Json ask(const Json& body) {
    const auto answer = webhook.answer(body.dump());
    if (!answer) return nullptr;
    return Json::parse(*answer)["response"];
  }

  base::Metrics metrics;
  Webhook webhook{hints, {"kube-system", "evacuator-system"}, metrics, {}};
};

TEST_F(WebhookTest, PatchesThePodOfAHint) {
  add(leaving());
  const Json response = ask(review(pod()));
  EXPECT_EQ(response["uid"], "r1");
  EXPECT_EQ(response["allowed"], true);
  EXPECT_EQ(response["patchType"], "JSONPatch");
  const Json patch = Json::parse(*base::decode_base64(response["patch"].get<std::string>()));
  const Json after = pod().patch(patch);
  EXPECT_EQ(after["metadata"]["annotations"]["evacuator.dev/placement"], "e1/uid-e1/Preferred/node-b");
  EXPECT_EQ(after["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0]
                 ["preference"]["matchFields"][0]["values"][0],
            "node-b");
}

struct ForeignCase {
  const char* name;
  void (*edit)(Json& review);
};
class ForeignTest : public WebhookTest, public testing::WithParamInterface<ForeignCase> {};

TEST_P(ForeignTest, IsAllowedAsItIs) {
  add(leaving());
  Json body = review(pod());
  GetParam().edit(body);
  EXPECT_EQ(ask(body), (Json{{"uid", "r1"}, {"allowed", true}}));
}

INSTANTIATE_TEST_SUITE_P(
    Reviews, ForeignTest,
    testing::Values(ForeignCase{"OfAnUpdate", [](Json& body) { body["request"]["operation"] = "UPDATE"; }},
                    ForeignCase{"OfASubresource", [](Json& body) { body["request"]["subResource"] = "binding"; }},
                    ForeignCase{"OfAnotherKind", [](Json& body) { body["request"]["resource"]["resource"] = "jobs"; }},
                    ForeignCase{"WithoutAnObject", [](Json& body) { body["request"].erase("object"); }},
                    ForeignCase{"WhoseObjectIsNone", [](Json& body) { body["request"]["object"] = 7; }},
                    ForeignCase{"InASparedNamespace", [](Json& body) { body["request"]["namespace"] = "kube-system"; }},
                    ForeignCase{"WhoseOwnersAreNone",
                                [](Json& body) { body["request"]["object"]["metadata"]["ownerReferences"] = "web"; }}),
    [](const auto& test) { return test.param.name; });

TEST_F(WebhookTest, OtherBodiesGetNoAnswer) {
  for (const char* text : {"", "{", "[]", "7", "{}", R"({"request": 7})",
                           R"({"apiVersion": "admission.k8s.io/v1", "request": {"uid": ""}})",
                           R"({"apiVersion": "admission.k8s.io/v1beta1", "request": {"uid": "r1"}})"}) {
    EXPECT_EQ(webhook.answer(text), std::nullopt) << text;
  }
  EXPECT_EQ(webhook.answer(std::string(1 << 20, '[')), std::nullopt);
}

}  // namespace hints_test
}  // namespace controllers::placement
