#include <gtest/gtest.h>

#include "test/unit/evictors/kubevirt/kubevirt_fixture.hpp"

namespace kubevirt_undo_test {

using namespace kubevirt_fixture;

struct UndoCase {
  const char* name;
  void (*edit)(World& world);
  std::string action;  ///< Empty for none
  Rollback want;
};
class KubeVirtUndo : public testing::TestWithParam<UndoCase> {};
TEST_P(KubeVirtUndo, UndoesOnlyOurChanges) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kAborting;
  GetParam().edit(world);
  const auto actions = kEvictor.undo(world.context());
  EXPECT_EQ(actions.empty() ? "" : actions.front().name, GetParam().action);
  EXPECT_EQ(kEvictor.undone(world.context()), GetParam().want);
}
void unmark(World& world) { world.vmi["status"].erase("evacuationNodeName"); }

INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtUndo,
    testing::Values(
        UndoCase{"CancelsTheMarkFirst", [](World& s) { s.migration("m", "Running"); }, "CancelEvacuation",
                 Rollback::kPending},
        UndoCase{"ThenDeletesTheMigration",
                 [](World& s) {
                   unmark(s);
                   s.migration("m", "Running");
                 },
                 "DeleteMigration", Rollback::kPending},
        UndoCase{"ThenWaitsForItsEnd",
                 [](World& s) {
                   unmark(s);
                   s.migration("m", "Running");
                   s.migrations[0]["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z";
                 },
                 "", Rollback::kPending},
        UndoCase{"IsDoneThen",
                 [](World& s) {
                   unmark(s);
                   s.migration("m", "Failed");
                 },
                 "", Rollback::kComplete},
        UndoCase{"LeavesOtherPeoplesMigrations",
                 [](World& s) {
                   unmark(s);
                   s.migration("m", "Running", "");
                 },
                 "", Rollback::kComplete},
        UndoCase{"LeavesAForeignMark",
                 [](World& s) { s.forget("markOwned").evacuation.status.refs.emplace_back("markOwned", "false"); }, "",
                 Rollback::kNothingToDo},
        UndoCase{"CannotCancelBefore17",
                 [](World& s) { s.kubevirt["items"][0]["status"]["observedKubeVirtVersion"] = "v1.6.3"; }, "",
                 Rollback::kRemoteMarkRemains},
        UndoCase{"WaitsForPostCopy",
                 [](World& s) {
                   s.migration("m", "Running");
                   s.vmi["status"]["migrationState"] = {{"migrationUid", "uid-m"}, {"mode", "PostCopy"}};
                 },
                 "", Rollback::kPending},
        UndoCase{"WaitsForAPodThatHasMoved",
                 [](World& s) {
                   s.vmi["status"] = {{"nodeName", "node-2"}};
                 },
                 "", Rollback::kPending},
        UndoCase{"NothingWasAsked", [](World& s) { s.evacuation.status.request_sent_at.reset(); }, "",
                 Rollback::kNothingToDo},
        UndoCase{"AfterADryRun", [](World& s) { s.evacuation.spec.dry_run = true; }, "", Rollback::kNothingToDo},
        UndoCase{"WaitsWhenBlind", [](World& s) { s.vmi_status = 0; }, "", Rollback::kPending},
        UndoCase{"DeletesItsOwnObject",
                 [](World& s) {
                   s.parameters = {{"mode", "Migration"}};
                   s.migration("evac-e5b3-1", "Running", "").migration("other", "Pending");
                 },
                 "DeleteMigration", Rollback::kPending}),
    [](const auto& test) { return test.param.name; });

TEST(KubeVirtUndoRequests, MatchWhatKubeVirtExpects) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kAborting;
  const auto cancel = kEvictor.undo(world.context()).at(0).request;
  EXPECT_EQ(cancel.method, "PUT");
  EXPECT_EQ(cancel.path,
            "/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachineinstances/db/evacuate/cancel");
  EXPECT_EQ(cancel.body, R"({"evacuationNodeName":"node-1"})");
  EXPECT_EQ(cancel.content_type, "application/json");
  EXPECT_NE(cancel.accept.find("*/*"), std::string::npos) << "virt-api declares no media type: 406 without it";
  unmark(world);
  world.migration("m", "Running");
  const auto removal = kEvictor.undo(world.context()).at(0).request;
  EXPECT_EQ(removal.method, "DELETE");
  EXPECT_NE(removal.body.find("uid-m"), std::string::npos);
}

}  // namespace kubevirt_undo_test
