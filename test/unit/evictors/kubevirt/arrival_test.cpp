#include <gtest/gtest.h>

#include "test/unit/evictors/kubevirt/kubevirt_fixture.hpp"

/// Where the VM is after its pod has left.
namespace kubevirt_arrival_test {

using namespace kubevirt_fixture;

struct ArriveCase {
  const char* name;
  void (*edit)(World& world);
  evictors::Verification::State want;
  bool migrated;
};
class KubeVirtArrive : public testing::TestWithParam<ArriveCase> {};
TEST_P(KubeVirtArrive, ReportsWhereTheVmIs) {
  World world;
  world.evacuation.status.phase = EvacuationPhase::kVerifying;
  world.with_pod = false;
  GetParam().edit(world);
  const auto arrival = kEvictor.verify(world.context());
  EXPECT_EQ(arrival.state, GetParam().want) << arrival.message;
  EXPECT_EQ(arrival.kind == api::OutcomeKind::kMigrated, GetParam().migrated);
}
using State = evictors::Verification::State;
void gone(World& world) {
  world.vmi_status = 404;
  world.vmi = {{"kind", "Status"}, {"details", {{"name", "db"}}}};
}
INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtArrive,
    testing::Values(
        ArriveCase{"OnAnotherNode",
                   [](World& s) {
                     s.vmi["status"] = {{"phase", "Running"}, {"nodeName", "node-2"}};
                   },
                   State::kArrived, true},
        ArriveCase{"NeverInATargetPod",
                   [](World& s) {
                     s.vmi["status"] = {{"phase", "Running"}, {"nodeName", "node-0"}};
                     s.evacuation.status.refs.emplace_back("hostedVm", "false");
                   },
                   State::kNotExpected, false},
        ArriveCase{"ItsVirtualMachineIsGone",
                   [](World& s) {
                     gone(s);
                     s.evacuation.status.refs.emplace_back("virtualMachine", "db");
                     s.machine_status = 404;
                     s.machine = {{"kind", "Status"}, {"details", {{"name", "db"}}}};
                   },
                   State::kNotExpected, false},
        ArriveCase{"ItsVirtualMachineIsBeingDeleted",
                   [](World& s) {
                     gone(s);
                     s.evacuation.status.refs.emplace_back("virtualMachine", "db");
                     s.machine = Json{{"metadata", {{"deletionTimestamp", "2026-11-21T12:00:00Z"}}}};
                   },
                   State::kNotExpected, false},
        ArriveCase{"ItsVirtualMachineIsHalted",
                   [](World& s) {
                     gone(s);
                     s.evacuation.status.refs.emplace_back("virtualMachine", "db");
                     s.machine = Json{{"spec", {{"runStrategy", "Halted"}}}};
                   },
                   State::kNotExpected, false},
        ArriveCase{"ItsVirtualMachineStartsItAgain",
                   [](World& s) {
                     gone(s);
                     s.evacuation.status.refs.emplace_back("virtualMachine", "db");
                     s.machine = Json{{"spec", {{"runStrategy", "Always"}}}};
                   },
                   State::kPending, false},
        ArriveCase{"VirtualMachinesAreNotServed",
                   [](World& s) {
                     gone(s);
                     s.evacuation.status.refs.emplace_back("virtualMachine", "db");
                     s.machine_status = 404;
                     s.machine = Json{{"kind", "Status"}};
                   },
                   State::kPending, false},
        ArriveCase{"StillHere", [](World&) {}, State::kPending, false},
        ArriveCase{"ShutDown", [](World& s) { s.vmi["status"]["phase"] = "Succeeded"; }, State::kNotExpected, false},
        ArriveCase{"Gone", gone, State::kNotExpected, false},
        ArriveCase{"GoneButOwned",
                   [](World& s) {
                     gone(s);
                     s.evacuation.status.refs.emplace_back("virtualMachine", "db");
                   },
                   State::kPending, false},
        ArriveCase{"DrainedExternally",
                   [](World& s) {
                     gone(s);
                     s.evacuation.status.refs.emplace_back("virtualMachine", "db");
                     s.evacuation.status.refs.emplace_back("evictionStrategy", "External");
                   },
                   State::kNotExpected, false},
        ArriveCase{"StartedAgain", [](World& s) { s.vmi["metadata"]["uid"] = "another"; }, State::kArrived, false},
        ArriveCase{"Unreadable", [](World& s) { s.vmi_status = 500; }, State::kPending, false}),
    [](const auto& test) { return test.param.name; });

TEST(KubeVirtArrive, AVmThatWasDeletedIsGone) {
  for (const bool terminating : {false, true}) {
    World world;
    world.evacuation.status.phase = EvacuationPhase::kVerifying;
    world.evacuation.status.refs.emplace_back("virtualMachine", "db");
    world.with_pod = false;
    gone(world);
    world.machine_status = terminating ? 200 : 404;
    world.machine = terminating ? Json{{"metadata", {{"deletionTimestamp", "2026-11-21T12:00:00Z"}}}}
                                : Json{{"kind", "Status"}, {"details", {{"name", "db"}}}};
    EXPECT_EQ(kEvictor.verify(world.context()).kind, api::OutcomeKind::kTargetGone);
    world.evacuation.status.outcome = api::EvacuationOutcome{};
    world.evacuation.status.outcome->kind = api::OutcomeKind::kEvicted;
    EXPECT_FALSE(kEvictor.verify(world.context()).kind) << "it left by our eviction before";
  }
}

}  // namespace kubevirt_arrival_test
