#include "planner/strategies/load/target_load_packing.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "test/builders/measured.hpp"
#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace target_load_packing_test {

using builders::ClusterBuilder;
using builders::Measured;
using builders::NodeBuilder;
using builders::PodBuilder;
using builders::RecordingSink;
using builders::StrategyRun;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(TargetLoadScore, GrowsUpToTheTargetAndFallsAbove) {
  EXPECT_DOUBLE_EQ(target_load_score(0, 40), 40);
  EXPECT_DOUBLE_EQ(target_load_score(20, 40), 70);
  EXPECT_DOUBLE_EQ(target_load_score(40, 40), 100);
  EXPECT_DOUBLE_EQ(target_load_score(70, 40), 20);
  EXPECT_DOUBLE_EQ(target_load_score(100, 40), 0);
  EXPECT_DOUBLE_EQ(target_load_score(130, 40), 0);
}

constexpr auto kArgs = R"({"usage":{"source":"s","hysteresis":{"samples":1,"of":1}}})";

/// n1 runs p1 and p2, each a tenth of a node.
StrategyRun run(const Measured& measured, const std::string& args = kArgs) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(NodeBuilder("n3"));
  builder.add(PodBuilder("p1").on("n1").cpu(10)).add(PodBuilder("p2").on("n1").cpu(10));
  StrategyRun run(builder);
  run.measured = {measured.share()};
  run.run("TargetLoadPacking", args);
  return run;
}

Measured loads(std::int64_t n1, std::int64_t n2, std::int64_t n3) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {n1 * 40}).node("n2", {n2 * 40}).node("n3", {n3 * 40});
  return measured.pod("p1", {400}).pod("p2", {400});
}

TEST(TargetLoadPacking, RelievesNodesAboveTheTarget) {
  const auto done = run(loads(60, 20, 0));
  EXPECT_THAT(done.sink.accepted, ElementsAre("p1", "p2"));
  EXPECT_EQ(done.sink.reasons.at("p1"), "its node is above the target load: measured cpu 60.0 %, target 40 %");
}

TEST(TargetLoadPacking, LevelsNothingBelowTheTarget) {
  EXPECT_THAT(run(loads(39, 25, 0)).sink.offered, IsEmpty()) << "above half of the target";
}

/// Returns rows such as "n1 Overutilized: measured cpu 60.0 %, above target 40 %", in the order of the report.
std::vector<std::string> rows(const StrategyRun& done) {
  std::vector<std::string> rows;
  if (!done.sink.classes) return rows;
  for (const api::ClassifiedNode& node : done.sink.classes->nodes)
    rows.push_back(fmt::format("{} {}: {}", node.node, api::to_string(node.node_class), node.reason));
  return rows;
}

TEST(TargetLoadPacking, ReportsTheClassOfEachNode) {
  EXPECT_THAT(rows(run(loads(60, 30, 10))),
              ElementsAre("n1 Overutilized: measured cpu 60.0 %, above target 40 %",
                          "n3 Underutilized: measured cpu 10.0 %, not above half of target 20 %",
                          "n2 Appropriate: measured cpu 30.0 %, not above target 40 %"));
}

constexpr auto kSpreadOnly = R"({"pack":false,"usage":{"source":"s","hysteresis":{"samples":1,"of":1}}})";

struct IdlePacking {
  std::string name;
  std::int64_t n1, n2, n3;
  std::string note;
  std::string args = kArgs;
};

class PackingIsIdle : public testing::TestWithParam<IdlePacking> {};

TEST_P(PackingIsIdle, AndReportsWhy) {
  const IdlePacking& c = GetParam();
  const auto done = run(loads(c.n1, c.n2, c.n3), c.args);
  EXPECT_THAT(done.sink.accepted, IsEmpty());
  ASSERT_TRUE(done.sink.classes);
  EXPECT_EQ(done.sink.classes->note, c.note);
}

INSTANTIATE_TEST_SUITE_P(
    TargetLoad, PackingIsIdle,
    testing::Values(IdlePacking{"NoneIsLow", 30, 30, 30,
                                "no node with pods that may be emptied is at or below half of the target"},
                    IdlePacking{"NoneIsAbove", 20, 22, 22, "no node is above the target", kSpreadOnly},
                    IdlePacking{"AllAreAbove", 60, 60, 60, "no destination node is below the target"},
                    IdlePacking{"NoOtherNode", 10, 0, 0, "no other node with pods can accept its pods"}),
    [](const auto& test) { return test.param.name; });

/// Expected result of packing. n1 runs p1 and p2.
struct PackingCase {
  std::string name;
  std::int64_t n1, n2, n3;  ///< Percent. The target is 40.
  std::vector<std::string> leave{};
  std::string args = kArgs;
};

class Packing : public testing::TestWithParam<PackingCase> {};

TEST_P(Packing, EmptiesNodesOntoFullerOnes) {
  const PackingCase& c = GetParam();
  EXPECT_EQ(run(loads(c.n1, c.n2, c.n3), c.args).sink.accepted, c.leave);
}

constexpr auto kOneOfANode =
    R"({"evictionLimits":{"node":1},"usage":{"source":"s","hysteresis":{"samples":1,"of":1}}})";

INSTANTIATE_TEST_SUITE_P(TargetLoad, Packing,
                         testing::Values(PackingCase{"AtHalfOfTheTarget", 20, 22, 22, {"p1", "p2"}},
                                         PackingCase{"OntoSeveral", 20, 30, 30, {"p1", "p2"}},
                                         PackingCase{"NotAboveHalfOfTheTarget", 21, 22, 22},
                                         PackingCase{"NotBeyondTheTarget", 20, 35, 35},
                                         PackingCase{"AllPodsOrNone", 20, 30, 35},
                                         PackingCase{"NotOntoEmptyOnes", 20, 10, 30},
                                         PackingCase{"NotWhileANodeIsAboveTheTarget", 20, 60, 22},
                                         PackingCase{"NotWherePackIsFalse", 20, 22, 22, {}, kSpreadOnly},
                                         PackingCase{"NotBeyondTheLimitOfANode", 20, 22, 22, {}, kOneOfANode}),
                         [](const auto& test) { return test.param.name; });

TEST(TargetLoadPacking, EmptiesOnlyNodesThatHysteresisConfirms) {
  const auto accepted = [](std::int64_t earlier) {
    Measured measured("s", {"cpu"});
    measured.node("n1", {400}).samples({earlier, 400}).node("n2", {880}).node("n3", {880});
    measured.pod("p1", {200}).pod("p2", {200});
    return run(measured, R"({"usage":{"source":"s","hysteresis":{"samples":2,"of":2}}})").sink.accepted;
  };
  EXPECT_THAT(accepted(1000), IsEmpty()) << "25 % a moment ago";
  EXPECT_THAT(accepted(400), ElementsAre("p1", "p2"));
}

TEST(TargetLoadPacking, RequiresTheMargin) {
  EXPECT_THAT(run(loads(50, 40, 40)).sink.accepted, IsEmpty()) << "50 % scores the same there";
  EXPECT_THAT(run(loads(62, 38, 40)).sink.accepted, ElementsAre("p1")) << "48 % is better than 62 % by 9";
  EXPECT_THAT(
      run(loads(62, 38, 40), R"({"margin":20,"usage":{"source":"s","hysteresis":{"samples":1,"of":1}}})").sink.accepted,
      IsEmpty());
}

TEST(TargetLoadPacking, LeavesUnknownNodesOut) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {2400}).node("n2", {0}).problem("stale").node("n3", {1600}).most_unknown(50);
  EXPECT_THAT(run(measured.pod("p1", {400}).pod("p2", {400})).sink.accepted, testing::SizeIs(1))
      << "n3 takes one: 50 % scores 33, 60 % 27";
}

TEST(TargetLoadPacking, NeedsItsSource) {
  const StrategySpecs specs = parse_strategies({{"TargetLoadPacking", kArgs}});
  ASSERT_TRUE(specs.problems().empty());
  ASSERT_EQ(specs.usage_needs().size(), 1U);
  EXPECT_EQ(specs.usage_needs().front().key(), "s");
}

TEST(TargetLoadPacking, ContradictsTheOtherBalancers) {
  const StrategySpecs specs =
      parse_strategies({{"TargetLoadPacking", kArgs},
                        {"LowNodeUtilization", R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":60}})"}});
  EXPECT_FALSE(specs.conflicts.empty());
}

}  // namespace target_load_packing_test
}  // namespace strategies
