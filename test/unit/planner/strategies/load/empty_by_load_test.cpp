/// HighNodeUtilization by measured load.

#include <gmock/gmock.h>

#include "test/builders/measured.hpp"
#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace empty_by_load_test {

using builders::ClusterBuilder;
using builders::Measured;
using builders::NodeBuilder;
using builders::PodBuilder;
using builders::StrategyRun;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kArgs = R"({"thresholds":{"cpu":20},"usage":{"source":"s","hysteresis":{"samples":1,"of":1}}})";

/// n1 runs p1. By requests all nodes are nearly empty.
StrategyRun run(const Measured& measured, const std::string& args = kArgs) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(PodBuilder("p1").on("n1").cpu(10));
  StrategyRun run(builder);
  run.measured = {measured.share()};
  run.run("HighNodeUtilization", args);
  return run;
}

Measured loads(std::int64_t n1, std::int64_t n2, std::int64_t p1 = 10) {
  Measured measured("s", {"cpu"});
  return measured.node("n1", {n1 * 40}).node("n2", {n2 * 40}).pod("p1", {p1 * 40});
}

TEST(EmptyByLoad, EmptiesAnIdleNode) { EXPECT_THAT(run(loads(15, 50)).sink.accepted, ElementsAre("p1")); }

TEST(EmptyByLoad, KeepsABusyNodeRegardlessOfRequests) { EXPECT_THAT(run(loads(25, 50)).sink.accepted, IsEmpty()); }

TEST(EmptyByLoad, FillsNoNodeAboveTheTarget) {
  const auto done = run(loads(15, 75));
  EXPECT_THAT(done.sink.accepted, IsEmpty()) << "75 % and 10 % are above 80 %";
  EXPECT_EQ(done.sink.refusals.at("p1"), "NodeCannotBeEmptied");
  EXPECT_THAT(run(loads(15, 75), R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":90},
    "usage":{"source":"s","hysteresis":{"samples":1,"of":1}}})")
                  .sink.accepted,
              ElementsAre("p1"));
}

TEST(EmptyByLoad, NeitherEmptiesNorFillsAnUnknownNode) {
  Measured measured("s", {"cpu"});
  measured.node("n1", {600}).node("n2", {2000}).problem("stale").most_unknown(50).pod("p1", {400});
  EXPECT_THAT(run(measured).sink.accepted, IsEmpty());
}

TEST(EmptyByLoad, HasTargetsOnlyWithUsage) {
  const StrategySpecs specs =
      parse_strategies({{"HighNodeUtilization", R"({"thresholds":{"cpu":20},"targetThresholds":{"cpu":90}})"}});
  ASSERT_FALSE(specs.errors.empty());
  EXPECT_EQ(specs.errors.front().to_string(), "spec.strategies[0].args.targetThresholds: has no effect without usage");
}

}  // namespace empty_by_load_test
}  // namespace strategies
