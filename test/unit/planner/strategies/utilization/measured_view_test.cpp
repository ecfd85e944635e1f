#include "planner/strategies/utilization/measured_view.hpp"

#include <gtest/gtest.h>

#include "test/builders/cluster.hpp"
#include "test/builders/measured.hpp"

namespace strategies {
namespace measured_view_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::Measured;
using builders::NodeBuilder;
using builders::PodBuilder;
using scheduling::kNoNode;
using scheduling::MeasuredUsage;

/// n1 runs a (1000m requested) and b (500m), n2 is empty. Both nodes have 4000m.
class MeasuredViewTest : public testing::Test {
 protected:
  explicit MeasuredViewTest(PodBuilder b = PodBuilder("b").on("n1").cpu(500))
      : cluster_(ClusterBuilder()
                     .add(NodeBuilder("n1"))
                     .add(NodeBuilder("n2"))
                     .add(PodBuilder("a").on("n1").cpu(1000))
                     .add(std::move(b))
                     .build()),
        what_if_(*cluster_) {}

  PodIndex pod(const char* name) const { return cluster_->find_pod("default", name).value(); }
  NodeIndex node(const char* name) const { return cluster_->find_node(name).value(); }
  MeasuredView view(const MeasuredUsage& measured, MeasuredView::Options options = {}) const {
    return {measured, what_if_, options};
  }

  std::unique_ptr<const scheduling::ClusterSnapshot> cluster_;
  scheduling::WhatIf what_if_;
};

TEST_F(MeasuredViewTest, FindsNodesAndPodsByName) {
  const MeasuredUsage measured = Measured("s", {"cpu"}).node("n1", {3000}).node("zz", {1}).pod("a", {800}).build();
  const MeasuredView seen = view(measured);
  EXPECT_EQ(seen.of_node(node("n1"), "cpu"), 3000);
  EXPECT_EQ(seen.of_node(node("n2"), "cpu"), std::nullopt) << "never 0";
  EXPECT_EQ(seen.of_node(node("n1"), "memory"), std::nullopt);
  EXPECT_EQ(seen.of_node(node("n1"), "pods"), 2000) << "counted";
  EXPECT_EQ(seen.of_pod(pod("a"), "cpu"), 800);
  EXPECT_EQ(seen.of_pod(pod("a"), "pods"), 1000);
}

TEST_F(MeasuredViewTest, HasNoUsageOfANodeWithAProblem) {
  const MeasuredUsage measured = Measured("s", {"cpu"}).node("n1", {3000}).problem("the sample is 7m old").build();
  EXPECT_EQ(view(measured).of_node(node("n1"), "cpu"), std::nullopt);
}

TEST_F(MeasuredViewTest, UsesTheMaximumOfCurrentAndForecast) {
  const MeasuredUsage measured =
      Measured("s", {"cpu"}).node("n1", {3000}).foreseen({3500}).node("n2", {900}).foreseen({400}).build();
  EXPECT_EQ(view(measured, {.forecast = true}).of_node(node("n1"), "cpu"), 3500);
  EXPECT_EQ(view(measured, {.forecast = true}).of_node(node("n2"), "cpu"), 900);
  EXPECT_EQ(view(measured).of_node(node("n1"), "cpu"), 3000);
}

TEST_F(MeasuredViewTest, MovesTheUsageOfMovedPods) {
  const MeasuredUsage measured = Measured("s", {"cpu"}).node("n1", {3000}).node("n2", {100}).pod("a", {800}).build();
  what_if_.move(pod("a"), node("n2"));
  EXPECT_EQ(view(measured).of_node(node("n1"), "cpu"), 2200);
  EXPECT_EQ(view(measured).of_node(node("n2"), "cpu"), 900);
  const MeasuredView plain = view(measured, {.corrects = false});
  EXPECT_EQ(plain.of_node(node("n1"), "cpu"), 3000);
}

TEST_F(MeasuredViewTest, RemovesPodsWithoutATargetFromTheirNode) {
  const MeasuredUsage measured = Measured("s", {"cpu"}).node("n1", {500}).pod("a", {800}).build();
  what_if_.move(pod("a"), kNoNode);
  EXPECT_EQ(view(measured).of_node(node("n1"), "cpu"), 0) << "not below 0 when figures disagree";
}

class JustStarted : public MeasuredViewTest {
 protected:
  JustStarted() : MeasuredViewTest(PodBuilder("b").on("n1").cpu(500).older_by(base::seconds(30))) {}
};

TEST_F(JustStarted, CountsWithItsRequestsUntilMeasured) {
  const MeasuredUsage measured = Measured("s", {"cpu"}).node("n1", {1000}).pod("a", {800}).build();
  EXPECT_EQ(view(measured).of_node(node("n1"), "cpu"), 1500);
  EXPECT_EQ(view(measured).of_pod(pod("b"), "cpu"), 500);
  EXPECT_EQ(view(measured, {.corrects = false}).of_pod(pod("b"), "cpu"), std::nullopt);
  what_if_.move(pod("b"), node("n2"));
  EXPECT_EQ(view(measured).of_node(node("n1"), "cpu"), 1000) << "its figure does not have it";
}

TEST_F(JustStarted, CountsOnceWhenItIsMeasured) {
  const MeasuredUsage measured = Measured("s", {"cpu"}).node("n1", {1000}).pod("a", {800}).pod("b", {50}).build();
  EXPECT_EQ(view(measured).of_node(node("n1"), "cpu"), 1000);
}

TEST_F(MeasuredViewTest, DividesTheNodeByRequestsIfPodsAreNotMeasured) {
  const MeasuredUsage measured = Measured("s", {"cpu", "psi"}).node("n1", {3000, 60}).build();
  EXPECT_EQ(view(measured).of_pod(pod("a"), "cpu"), 2000);
  EXPECT_EQ(view(measured).of_pod(pod("b"), "cpu"), 1000);
  EXPECT_EQ(view(measured).of_pod(pod("a"), "psi"), 40) << "nobody requests it: by cpu";
  EXPECT_FALSE(view(measured, {.corrects = false, .has_pod_usage = false}).has_pod_usage());
}

TEST_F(MeasuredViewTest, ConvertsPercentToAmountsIfTheNodeHasCapacity) {
  const MeasuredUsage measured = Measured("s", {}).percent("cpu").percent("psi").node("n1", {50'000, 25'000}).build();
  const MeasuredView seen = view(measured);
  EXPECT_EQ(seen.of_node(node("n1"), "cpu"), 2000);
  EXPECT_FALSE(seen.is_percent("cpu"));
  EXPECT_EQ(seen.of_node(node("n1"), "psi"), 25'000);
  EXPECT_TRUE(seen.is_percent("psi"));
}

}  // namespace measured_view_test
}  // namespace strategies
