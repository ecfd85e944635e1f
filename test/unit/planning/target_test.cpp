#include "planning/target.hpp"

#include <gtest/gtest.h>

#include <random>

#include "test/builders/cluster.hpp"

namespace planning {
namespace target_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;
using scheduling::kNoNode;
using scheduling::NodeIndex;
using scheduling::NodeScoring::kLeastAllocated;

std::string target_of(const ClusterBuilder& builder, const std::string& pod) {
  const auto cluster = builder.build();
  scheduling::Overlay overlay(*cluster);
  const auto index = cluster->find_pod("default", pod).value();
  overlay.move(index, kNoNode);
  const auto node = TargetPredictor(*cluster, kLeastAllocated).predict(overlay, index).node;
  return node ? cluster->node(*node).meta.name : "";
}

TEST(TargetPredictor, ChoosesTheEmptiestNode) {
  EXPECT_EQ(target_of(ClusterBuilder()
                          .add(NodeBuilder("n1"))
                          .add(NodeBuilder("n2"))
                          .add(PodBuilder("a").on("n1").cpu(1000))
                          .add(PodBuilder("p").cpu(100)),
                      "p"),
            "n2");
}

TEST(TargetPredictor, BreaksTiesByName) {
  EXPECT_EQ(target_of(ClusterBuilder().add(NodeBuilder("n3")).add(NodeBuilder("n2")).add(PodBuilder("p")), "p"), "n2");
}

TEST(TargetPredictor, WeighsCpuAndMemoryTogether) {
  EXPECT_EQ(target_of(ClusterBuilder()
                          .add(NodeBuilder("n1"))
                          .add(NodeBuilder("n2"))
                          .add(PodBuilder("cpu").on("n1").cpu(2000))
                          .add(PodBuilder("memory").on("n2").memory(1000))
                          .add(PodBuilder("p")),
                      "p"),
            "n2");
}

TEST(TargetPredictor, TakesTheNextBestThatPasses) {
  EXPECT_EQ(target_of(ClusterBuilder()
                          .add(NodeBuilder("n1").taint("gpu"))
                          .add(NodeBuilder("n2").cordoned())
                          .add(NodeBuilder("n3"))
                          .add(NodeBuilder("n4"))
                          .add(PodBuilder("a").on("n3").cpu(1000))
                          .add(PodBuilder("b").on("n4").cpu(500))
                          .add(PodBuilder("p")),
                      "p"),
            "n4");
}

TEST(TargetPredictor, MayChooseTheNodeThatThePodLeaves) {
  EXPECT_EQ(target_of(ClusterBuilder()
                          .add(NodeBuilder("n1"))
                          .add(NodeBuilder("n2"))
                          .add(PodBuilder("a").on("n2").cpu(3000))
                          .add(PodBuilder("p").on("n1").cpu(1000)),
                      "p"),
            "n1");
}

TEST(TargetPredictor, FindsNoneForAPodThatIsTooLarge) {
  EXPECT_EQ(target_of(ClusterBuilder().add(NodeBuilder("n1")).add(PodBuilder("p").cpu(4001)), "p"), "");
}

TEST(TargetPredictor, FindsNoneWithoutNodes) { EXPECT_EQ(target_of(ClusterBuilder().add(PodBuilder("p")), "p"), ""); }

/// What a predictor remembers from earlier answers must not show: it answers as one that sees the cluster for the first
/// time.
TEST(TargetPredictor, KeepsUpWithEveryChangeOfTheOverlay) {
  std::mt19937 random(20261122);
  const auto below = [&](std::uint32_t limit) { return static_cast<int>(random() % limit); };
  ClusterBuilder builder;
  for (int i = 0; i < 12; ++i) builder.add(NodeBuilder("n" + std::to_string(i)).sized(1000 * (1 + i % 4), 8000, 110));
  for (int i = 0; i < 60; ++i) {
    builder.add(PodBuilder("p" + std::to_string(i)).on("n" + std::to_string(below(12))).cpu(100 * (1 + i % 5)));
  }
  const auto cluster = builder.build();
  scheduling::Overlay overlay(*cluster);
  TargetPredictor kept(*cluster, kLeastAllocated);
  for (int step = 0; step < 500; ++step) {
    const auto pod = static_cast<scheduling::PodIndex>(below(60));
    const auto odd = [](NodeIndex node) { return node % 2 == 1; };
    const strategies::Goal goal = step % 3 == 0 ? strategies::Goal(odd) : strategies::Goal();
    overlay.move(pod, kNoNode);
    const auto target = kept.predict(overlay, pod, goal).node;
    ASSERT_EQ(target, TargetPredictor(*cluster, kLeastAllocated).predict(overlay, pod, goal).node) << "step " << step;
    if (step % 7 == 0) {
      overlay.restore(pod);
    } else if (target) {
      overlay.move(pod, *target);
    }
  }
}

}  // namespace target_test
}  // namespace planning
