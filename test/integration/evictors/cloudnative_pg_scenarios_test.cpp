#include <optional>
#include <utility>

#include "simulator/api/request_info.hpp"
#include "test/integration/evictors/switchover_scenarios_fixture.hpp"

/// CloudNativePG switches its primary over.
namespace cloudnative_pg_scenarios_test {

using namespace switchover_scenarios_fixture;

/// Follows targetPrimary `after` it was set, like CloudNativePG: the named instance is promoted whatever targetPrimary
/// contains by then, and an old primary that is named again meanwhile also starts as a primary.
class CloudNativePg : public Switchover {
 protected:
  void operator_switches(base::Duration after) {
    watcher = [this, after] {
      const std::string target = status("targetPrimary");
      if (!candidate_ && target != status("currentPrimary")) candidate_.emplace(target, clock.now() + after);
      if (!candidate_ || clock.now() < candidate_->second) return;
      const std::string promoted = std::exchange(candidate_, std::nullopt)->first;
      promote(promoted);
      if (target != promoted) set_role(target, "primary");
      edit(*type_, "db", [&](Json& stored) { stored["status"]["currentPrimary"] = promoted; });
    };
  }
  std::string status(const char* field) const { return object(*type_, "db")["status"].value(field, ""); }
  const kube::ResourceType* type_ = &kCnpg;
  int primaries() const { return (role_of("pg-0") == "primary" ? 1 : 0) + (role_of("pg-1") == "primary" ? 1 : 0); }

 private:
  std::optional<std::pair<std::string, base::TimePoint>> candidate_;
};

TEST_F(CloudNativePg, APrimaryIsSwitchedOverAndThenEvicted) {
  cloudnative_pg();
  operator_switches(seconds(40));
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress; }, seconds(30)));
  EXPECT_EQ(status("targetPrimary"), "pg-1");
  EXPECT_EQ(status("phase"), "Switchover in progress");
  EXPECT_TRUE(evictions().empty()) << "nothing is evicted while it is the primary";
  expect_evicted_as_replica(name, "cloudnative-pg");
}

TEST_F(CloudNativePg, OfEdbIsSwitchedOverInItsOwnGroup) {
  type_ = &kEdb;
  begin("k8s.enterprisedb.io/instanceRole", "primary", {{"k8s.enterprisedb.io/cluster", "db"}});
  custom(kEdb, {{"status", {{"currentPrimary", "pg-0"}, {"targetPrimary", "pg-0"}}}});
  operator_switches(seconds(40));
  expect_evicted_as_replica(begin_evacuation(), "cloudnative-pg");
}

TEST_F(CloudNativePg, PassesOverAReplicaThatDoesNotReceiveTheLog) {
  cloudnative_pg();
  server->add_endpoint([](const simulator::RequestInfo& info, const kube::Request& request) {
    const bool is_status = info.subresource == "proxy" && request.path.ends_with("/https:pg-1:8000/proxy/pg/status");
    return is_status ? std::optional(kube::Response{200, R"({"isWalReceiverActive":false})", {}, ""}) : std::nullopt;
  });
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "pg-1: its WAL receiver is not active");
  EXPECT_EQ(status("targetPrimary"), "pg-0");
}

TEST_F(CloudNativePg, PassesOverAReplicaOnACordonedNode) {
  cloudnative_pg();
  cordon(node_of("pg-1"));
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "is cordoned");
  EXPECT_EQ(status("targetPrimary"), "pg-0");
}

TEST_F(CloudNativePg, AFormerPrimaryIsNotEvictedWithoutALeader) {
  cloudnative_pg();
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return status("targetPrimary") == "pg-1"; }, seconds(30)));
  set_role("pg-0", "replica");
  edit(kCnpg, "db", [](Json& stored) { stored["status"]["currentPrimary"] = "pg-1"; });
  run_for(seconds(60));
  EXPECT_TRUE(evictions().empty()) << "pg-1 is no primary yet";
  set_role("pg-1", "primary");
  expect_evicted_as_replica(name, "cloudnative-pg");
}

TEST_F(CloudNativePg, AReplicaIsEvictedAsItIs) {
  cloudnative_pg();
  promote("pg-1");
  edit(kCnpg, "db", [](Json& stored) { stored["status"] = {{"currentPrimary", "pg-1"}, {"targetPrimary", "pg-1"}}; });
  expect_evicted_as_replica(begin_evacuation(Json::object()), "cloudnative-pg");
}

TEST_F(CloudNativePg, APrimaryIsNotTouchedUnlessTheParameterAllowsIt) {
  cloudnative_pg();
  expect_end(begin_evacuation(Json::object()), Phase::kFailed, "NotEvictable", "switchover");
  EXPECT_EQ(status("targetPrimary"), "pg-0");
}

TEST_F(CloudNativePg, ACancelNeverGivesTwoPrimaries) {
  cloudnative_pg();
  operator_switches(seconds(40));
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return status("targetPrimary") == "pg-1"; }, seconds(30)));
  run_for(seconds(10));
  cancel(name);
  const auto began = clock.now();
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_LE(clock.now() - began, seconds(10)) << "nothing is waited for";
  EXPECT_EQ(condition(name, "RollbackComplete"), "RemoteMarkRemains");
  run_for(seconds(120));
  EXPECT_EQ(status("targetPrimary"), "pg-1");
  EXPECT_EQ(status("currentPrimary"), "pg-1");
  EXPECT_EQ(primaries(), 1);
  EXPECT_TRUE(evictions().empty());
}

TEST_F(CloudNativePg, ASwitchoverThatNeverEndsIsNotTakenBackAfterItsTotal) {
  cloudnative_pg();
  const std::string name = begin_evacuation();
  const auto began = clock.now();
  expect_end(name, Phase::kFailed, "ProgressTimeout");
  EXPECT_GE(clock.now() - began, seconds(600));
  EXPECT_LE(clock.now() - began, seconds(700));
  EXPECT_EQ(condition(name, "RollbackComplete"), "RemoteMarkRemains");
  EXPECT_EQ(status("targetPrimary"), "pg-1") << "it still becomes primary";
  EXPECT_TRUE(evictions().empty());
}

TEST_F(CloudNativePg, WithoutAHealthyReplicaNothingIsRequested) {
  cloudnative_pg();
  set_role("pg-1", "unhealthy");
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "NoHealthyReplica");
  EXPECT_EQ(status("targetPrimary"), "pg-0");
}

TEST_F(CloudNativePg, AProcessThatDiesAtEachCallLeavesTheSameEnd) {
  cloudnative_pg();
  operator_switches(seconds(20));
  evacuate_over_deaths_at_each_call([&](const std::string& name) { EXPECT_EQ(get(name).status.attempt, 1); },
                                    [&] {
                                      edit(kCnpg, "db", [](Json& stored) {
                                        stored["status"] = {{"currentPrimary", "pg-0"}, {"targetPrimary", "pg-0"}};
                                      });
                                    });
}

}  // namespace cloudnative_pg_scenarios_test
