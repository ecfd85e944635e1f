/// Reports of RemoveDuplicates about pods that stay.

#include "planner/strategies/placement/remove_duplicates.hpp"

#include <gmock/gmock.h>

#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace remove_duplicates_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;
using builders::StrategyRun;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Refusals = std::vector<std::pair<std::string, std::string>>;

PodBuilder copy(const std::string& name, const std::string& node = "n1") { return PodBuilder(name).on(node).cpu(100); }
PodBuilder kept(const std::string& name, const std::string& node = "n1") {
  return copy(name, node).with([](api::Pod& pod) { pod.volumes.push_back({api::VolumeKind::kEmptyDir, "v"}); });
}
NodeBuilder tainted(const std::string& name) { return NodeBuilder(name).taint("gpu"); }

struct StayCase {
  std::string name;
  void (*arrange)(ClusterBuilder&);
  std::vector<std::string> moves;
  Refusals refusals;
  bool node_fit = false;
};

class DuplicatesThatStay : public testing::TestWithParam<std::tuple<StayCase, api::Compatibility>> {};

TEST_P(DuplicatesThatStay, AreReportedWithTheReason) {
  const StayCase& c = std::get<StayCase>(GetParam());
  ClusterBuilder cluster;
  c.arrange(cluster);
  StrategyRun run(cluster);
  run.compatibility = std::get<api::Compatibility>(GetParam());
  run.evictability.node_fit = c.node_fit;
  run.run("RemoveDuplicates", "{}");
  EXPECT_EQ(run.sink.accepted, c.moves);
  EXPECT_EQ(Refusals(run.sink.refusals.begin(), run.sink.refusals.end()), c.refusals);
}

INSTANTIATE_TEST_SUITE_P(
    Each, DuplicatesThatStay,
    testing::Combine(
        testing::Values(
            StayCase{
                "NoOtherNodeMayHoldAny",
                [](ClusterBuilder& c) { c.add(NodeBuilder("n1")).add(tainted("n2")).add(copy("a")).add(copy("b")); },
                {},
                {{"a", "NoOtherNodeFits"}, {"b", "NoOtherNodeFits"}}},
            StayCase{"Protected",
                     [](ClusterBuilder& c) {
                       c.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(kept("a")).add(kept("b"));
                     },
                     {},
                     {{"a", "LocalStorage"}, {"b", "LocalStorage"}}},
            StayCase{
                "NoCapacity",
                [](ClusterBuilder& c) {
                  c.add(NodeBuilder("n1")).add(NodeBuilder("n2").sized(50, 4000, 10)).add(copy("a")).add(copy("b"));
                },
                {},
                {{"a", "NoOtherNodeFits"}, {"b", "NoOtherNodeFits"}},
                true},
            StayCase{"WithinTheShare",
                     [](ClusterBuilder& c) {
                       c.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(kept("a")).add(kept("b"));
                       c.add(kept("c", "n2"));
                     },
                     {},
                     {}},
            StayCase{"AloneInItsCluster",
                     [](ClusterBuilder& c) { c.add(NodeBuilder("n1")).add(copy("a")).add(copy("b")); },
                     {},
                     {}}),
        testing::Values(api::Compatibility::kNone, api::Compatibility::kUpstream)),
    [](const auto& test) {
      return std::get<StayCase>(test.param).name +
             (std::get<api::Compatibility>(test.param) == api::Compatibility::kUpstream ? "Upstream" : "");
    });

TEST(DuplicatesThatStay, AreNotReportedForUpstreamIfOthersOfTheirNodeLeave) {
  // Upstream counts the cordoned node for the spread.
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2").cordoned()).add(copy("a")).add(copy("b"));
  StrategyRun run(cluster);
  run.compatibility = api::Compatibility::kUpstream;
  run.run("RemoveDuplicates", "{}");
  EXPECT_THAT(run.sink.accepted, testing::SizeIs(1));
  EXPECT_THAT(run.sink.refusals, IsEmpty());
}

TEST(DuplicatesThatStay, ReportForUpstreamWhatKeepsThem) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(tainted("n2")).add(copy("a")).add(copy("b"));
  StrategyRun run(cluster);
  run.compatibility = api::Compatibility::kUpstream;
  run.run("RemoveDuplicates", "{}");
  EXPECT_THAT(run.sink.details, ElementsAre(Pair("a", testing::HasSubstr("1 of 1 nodes: ")),
                                            Pair("b", testing::HasSubstr("the taint gpu"))));
}

}  // namespace remove_duplicates_test
}  // namespace strategies
