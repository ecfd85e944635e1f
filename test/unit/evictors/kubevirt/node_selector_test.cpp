#include <gtest/gtest.h>

#include "test/builders/origin.hpp"
#include "test/unit/evictors/kubevirt/kubevirt_fixture.hpp"

/// Parameter addedNodeSelector: which VMs it fits and who may set it.
namespace kubevirt_node_selector_test {

using namespace kubevirt_fixture;

struct SelectorCase {
  const char* name;
  const char* version;
  const char* own_zone;
  std::string refusal;  ///< Text of the refusal, empty for none
};
class KubeVirtSelector : public testing::TestWithParam<SelectorCase> {};
TEST_P(KubeVirtSelector, IsRefusedIfKubeVirtWouldDropIt) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kPreparing;
  world.parameters = {{"mode", "Migration"}, {"addedNodeSelector", "zone=a,disk=ssd"}};
  world.evacuation.status.conditions = {builders::origin_verified()};
  world.kubevirt["items"][0]["status"]["observedKubeVirtVersion"] = GetParam().version;
  if (*GetParam().own_zone) world.vmi["spec"]["nodeSelector"]["zone"] = GetParam().own_zone;
  const auto seen = kEvictor.observe(world.context());
  EXPECT_EQ(seen.failed ? seen.failed->message : "", GetParam().refusal);
  if (!seen.failed) return;
  EXPECT_EQ(seen.failed->complete_reason, api::Reason::kNotEvictable);
  EXPECT_FALSE(seen.failed->retryable || seen.failed->try_next);
}
INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtSelector,
    testing::Values(
        SelectorCase{"V15", "v1.5.2", "",
                     "addedNodeSelector requires KubeVirt 1.6; this is 1.5, which would ignore it"},
        SelectorCase{"V16", "v1.6.0", "", ""}, SelectorCase{"V19", "v1.9.0", "", ""},
        SelectorCase{"VersionUnknown", "devel", "", ""}, SelectorCase{"SameAsTheMachines", "v1.7.0", "a", ""},
        SelectorCase{"TheMachinesOwn", "v1.7.0", "b",
                     "addedNodeSelector conflicts with the VM's own nodeSelector zone=b, which would take precedence"}),
    [](const auto& test) { return test.param.name; });

struct MakerCase {
  const char* name;
  void (*edit)(World& world);
  bool refused;
};
class KubeVirtSelectorByHand : public testing::TestWithParam<MakerCase> {};
TEST_P(KubeVirtSelectorByHand, IsNotAllowed) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kPreparing;
  world.evacuation.spec.source = {"balance", "LowNodeUtilization", ""};
  world.parameters = {{"mode", "Migration"}, {"addedNodeSelector", "zone=a"}};
  GetParam().edit(world);
  const auto seen = kEvictor.observe(world.context());
  ASSERT_EQ(seen.failed.has_value(), GetParam().refused);
  if (!seen.failed) return;
  EXPECT_EQ(seen.failed->complete_reason, api::Reason::kNotAllowed);
  EXPECT_FALSE(seen.failed->retryable || seen.failed->try_next);
  EXPECT_NE(seen.failed->message.find("addedNodeSelector"), std::string::npos) << "it names the rule";
}
void made_by_alice(World& world, int status, const char* answer) {
  world.creator = R"({"user":"alice"})";
  world.review = Document{"creator", status, answer};
}
INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtSelectorByHand,
    testing::Values(MakerCase{"ByWhoeverNamesAPolicy", [](World&) {}, true},
                    MakerCase{"ByWhoeverMayMigrate",
                              [](World& s) { made_by_alice(s, 201, R"({"status":{"allowed":true}})"); }, false},
                    MakerCase{"ByWhoeverMayNotMigrate",
                              [](World& s) { made_by_alice(s, 201, R"({"status":{"allowed":false}})"); }, true},
                    MakerCase{"ByNobodyWhateverIsSaidOfHim",
                              [](World& s) {
                                made_by_alice(s, 201, R"({"status":{"allowed":true}})");
                                s.creator.clear();
                              },
                              true},
                    MakerCase{"WithAForgedSignature",
                              [](World& s) {
                                s.evacuation.status.conditions = {builders::origin_verified()};
                                s.evacuation.status.conditions[0].status = api::ConditionStatus::kFalse;
                              },
                              true},
                    MakerCase{"ByThePolicy",
                              [](World& s) { s.evacuation.status.conditions = {builders::origin_verified()}; }, false},
                    MakerCase{"WithoutASelector",
                              [](World& s) {
                                s.parameters = {{"mode", "Migration"}};
                              },
                              false}),
    [](const auto& test) { return test.param.name; });

TEST(KubeVirtSelectorReview, ChecksWhetherTheCreatorMayMigrate) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kPreparing;
  world.parameters = {{"mode", "Migration"}, {"addedNodeSelector", "zone=a"}};
  const auto asked = [&]() -> Json {
    for (const auto& read : kEvictor.reads(world.context())) {
      if (read.name == "creator") return Json::parse(read.request.body)["spec"];
    }
    return nullptr;
  };
  EXPECT_EQ(asked(), nullptr) << "nobody knows who made it";
  world.creator = R"({"user":"alice","groups":["dev"]})";
  const Json spec = asked();
  ASSERT_TRUE(spec.is_object());
  EXPECT_EQ(spec["user"], "alice");
  EXPECT_EQ(spec["groups"], Json::array({"dev"}));
  EXPECT_EQ(spec["resourceAttributes"]["verb"], "create");
  EXPECT_EQ(spec["resourceAttributes"]["namespace"], "shop");
  EXPECT_EQ(spec["resourceAttributes"]["group"], "kubevirt.io");
  EXPECT_EQ(spec["resourceAttributes"]["resource"], "virtualmachineinstancemigrations");
  world.evacuation.status.phase = EvacuationPhase::kInProgress;
  EXPECT_EQ(asked(), nullptr) << "it is decided";
  world.evacuation.status.phase = EvacuationPhase::kPending;
  world.evacuation.status.conditions = {builders::origin_verified()};
  EXPECT_EQ(asked(), nullptr) << "created by the operator";
  world.evacuation.status.conditions.clear();
  world.parameters = {{"mode", "Migration"}};
  EXPECT_EQ(asked(), nullptr) << "nobody chooses a node";
}

TEST(KubeVirtSelectorReview, WithoutAnAnswerIsRetried) {
  for (const auto& [status, body] :
       {std::pair(0, "timeout"), std::pair(403, "{}"), std::pair(201, "<html>"), std::pair(201, R"({"status":{}})"),
        std::pair(500, R"({"status":{"allowed":true}})")}) {
    World world;
    world.evacuation.status.phase = EvacuationPhase::kPreparing;
    world.parameters = {{"mode", "Migration"}, {"addedNodeSelector", "zone=a"}};
    made_by_alice(world, status, body);
    const auto seen = kEvictor.observe(world.context());
    ASSERT_TRUE(seen.failed) << body;
    EXPECT_TRUE(seen.failed->retryable) << body;
  }
}

TEST(KubeVirtSelectorCall, UsesStrictFieldValidation) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kRequesting;
  world.parameters = {{"mode", "Migration"}, {"addedNodeSelector", "zone=a"}};
  EXPECT_EQ(kEvictor.plan(world.context()).action->request.query, "fieldValidation=Strict");
  world.evacuation.spec.dry_run = true;
  EXPECT_EQ(kEvictor.plan(world.context()).action->request.query, "fieldValidation=Strict&dryRun=All");
}

}  // namespace kubevirt_node_selector_test
