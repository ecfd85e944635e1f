#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cmd/advise/placement_view.hpp"
#include "cmd/cli.hpp"
#include "test/unit/cmd/command_fixture.hpp"

namespace cmd::advise {
namespace placement_test {

using advisor::Cause;
using ::testing::HasSubstr;
using ::testing::Not;

advisor::PlacementReport report() {
  advisor::PlacementReport made;
  made.nodes = 20;
  made.busy = 19;
  made.now = {.freed = 4, .moves = 9, .bound = 6, .bound_reason = "requests of cpu"};
  advisor::Finding quorum{.cause = Cause::kRequiredAntiAffinity,
                          .ns = "db",
                          .kind = "StatefulSet",
                          .name = "zk\x1b[2J",
                          .pods = 5,
                          .nodes = 5,
                          .risk = advisor::Risk::kHigh,
                          .why = "5 pods",
                          .change = "make it preferred"};
  quorum.then = advisor::Outcome{.freed = 6, .moves = 12, .bound = 8, .bound_reason = ""};
  advisor::Finding single{.cause = Cause::kSingleReplica, .ns = "db", .kind = "Deployment", .name = "ui", .pods = 1};
  made.findings = {quorum, single};
  made.unplanned = 2;
  made.alerts = {{"NodeLoadHigh", 90, "a node burns", "up > 90"}};
  return made;
}

TEST(PlacementText, ShowsEffectsRisksAndAlerts) {
  const std::string text = placement_text(report());
  EXPECT_THAT(text, HasSubstr("a plan frees 4 with 9 moves; the upper bound is 6, because of requests of cpu"));
  EXPECT_THAT(text, HasSubstr("2 nodes more, 6 in total"));
  EXPECT_THAT(text, HasSubstr("(2 were not evaluated"));
  EXPECT_THAT(text, HasSubstr("SingleReplica   Deployment db/ui"));
  EXPECT_THAT(text, HasSubstr("NodeLoadHigh at 90 %: a node burns\n  up > 90\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << "names of tenants do not steer the terminal";
}

TEST(PlacementText, SaysWhenThereIsNothing) {
  EXPECT_THAT(placement_text({}), HasSubstr("No constraint keeps nodes"));
  EXPECT_THAT(placement_text({}), HasSubstr("the upper bound is 0. Nothing was changed."));
}

class AdvisePlacement : public cmd_test::CommandTest {
 protected:
  int run(std::vector<std::string> args) {
    args.insert(args.begin(), {"advise", "placement", "--now", "2026-11-21T00:00:00Z", "--snapshot",
                               write("dump.json", R"({"kind":"List","apiVersion":"v1","items":[
{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"4","pods":"110"}}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"a","uid":"u"},"spec":{"nodeName":"n1",
 "containers":[{"name":"c"}]},"status":{"phase":"Running"}}]})")});
    return captured([&] { return cmd::run_evacuator(args); });
  }
};

TEST_F(AdvisePlacement, CountsThePodsWithoutAnAge) {
  EXPECT_EQ(run({}), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("1 of 1 pods have no readable creationTimestamp"));
}

TEST_F(AdvisePlacement, SaysThatTheUsageIsNotOfThisCluster) {
  const std::string warning = "--usage: none of its 1 pods is in this cluster";
  EXPECT_EQ(run({"--usage", write("usage.csv", "namespace,pod,cpu\na,other,5m\n")}), 0) << err_;
  EXPECT_THAT(err_, HasSubstr(warning));
  EXPECT_EQ(run({"--usage", write("usage.csv", "namespace,pod,cpu\na,p,5m\n")}), 0) << err_;
  EXPECT_THAT(err_, Not(HasSubstr(warning)));
}

TEST(PlacementJson, HasThenOnlyIfAPlanExists) {
  const api::Json json = placement_json(report());
  EXPECT_EQ(json["findings"][0]["gainedNodes"], 2);
  EXPECT_EQ(json["findings"][0]["savedMoves"], -3);
  EXPECT_EQ(json["findings"][0]["grade"], "Preferred");
  EXPECT_FALSE(json["findings"][1].contains("then"));
  EXPECT_EQ(json["now"]["boundReason"], "requests of cpu");
}

}  // namespace placement_test
}  // namespace cmd::advise
