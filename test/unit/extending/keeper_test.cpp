#include "extending/load_keeper.hpp"

#include <gtest/gtest.h>

namespace extending {
namespace keeper_test {

using scheduling::kUnknownUsage;
using scheduling::MeasuredUsage;

const base::TimePoint kNow{base::seconds(1'700'000'000)};

std::shared_ptr<const api::Node> node(const std::string& name) {
  api::Node made;
  made.meta.name = name;
  made.allocatable = {{"cpu", api::Quantity::from_milli(4'000)}};
  return std::make_shared<const api::Node>(std::move(made));
}

api::Pod pod(const std::string& name, const std::string& node, const std::string& owner = "rs") {
  api::Pod made;
  made.meta.ns = "shop";
  made.meta.name = name;
  made.meta.uid = "uid-" + name;
  made.meta.creation_timestamp = kNow;
  if (!owner.empty()) made.meta.owner_references = {{"apps/v1", "ReplicaSet", "web", owner, true}};
  made.node_name = {node};
  made.containers.resize(1);
  made.containers.front().requests = {{"cpu", api::Quantity::from_milli(1'000)}};
  return made;
}

/// Of n1 and n2 half of the cores are used, of n3 nothing is known.
MeasuredUsage usage(bool has_pods = true) {
  MeasuredUsage measured;
  measured.source = "m";
  measured.resources = {{"cpu", false}};
  for (const char* name : {"n1", "n2", "n3"}) {
    MeasuredUsage::Node entry;
    entry.name = name;
    entry.time = kNow;
    entry.now = {2'000};
    entry.samples = {1'600, 2'400, 2'000};
    if (entry.name == "n3") entry.problem = "its newest sample is 7m old";
    measured.nodes.push_back(entry);
  }
  if (!has_pods) return measured;
  measured.pods = {{"shop", "old-1"}, {"shop", "old-2"}};
  measured.pod_amounts = {100, 300};
  return measured;
}

std::shared_ptr<const LoadBoard> board(MeasuredUsage measured = usage(), std::vector<std::string> resources = {"cpu"}) {
  const std::vector<std::shared_ptr<const api::Pod>> pods = {
      std::make_shared<const api::Pod>(pod("old-1", "n1", "known")),
      std::make_shared<const api::Pod>(pod("old-2", "n2", "known"))};
  return make_load_board(std::make_shared<const MeasuredUsage>(std::move(measured)), std::move(resources),
                         {node("n1"), node("n2"), node("n3")}, pods);
}

double cpu_of(LoadKeeper& keeper, const std::string& name, base::TimePoint now = kNow) {
  const auto loads = keeper.loads({name}, pod("asked", ""), false, now);
  return loads.front() ? loads.front()->mean.front() : -1;
}

TEST(LoadBoard, HasMeanDeviationAndWhatWorkloadsUse) {
  const auto made = board();
  ASSERT_TRUE(made->nodes.contains("n1"));
  EXPECT_DOUBLE_EQ(made->nodes.at("n1").load.mean.front(), 50);
  EXPECT_NEAR(made->nodes.at("n1").load.deviation.front(), 8.165, 0.001);
  EXPECT_FALSE(made->nodes.contains("n3"));
  EXPECT_EQ(made->usual.at("known"), std::vector<double>{200});
  EXPECT_TRUE(made->knows_pod("shop", "old-2"));
  EXPECT_FALSE(made->knows_pod("shop", "old-3"));
}

TEST(LoadBoard, TakesTheNewestSampleWhereItIsHigher) {
  MeasuredUsage measured = usage();
  measured.nodes[0].samples = {2'000, 3'000};
  EXPECT_DOUBLE_EQ(board(measured)->nodes.at("n1").load.mean.front(), 75);
}

TEST(LoadBoard, APercentageNeedsNoCapacity) {
  MeasuredUsage measured = usage(false);
  measured.resources = {{"io", true}};
  measured.nodes[0].now = {30'000};
  measured.nodes[0].samples.clear();
  EXPECT_DOUBLE_EQ(board(measured, {"io"})->nodes.at("n1").load.mean.front(), 30);
}

TEST(LoadBoard, AResourceThatNobodyMeasuresCountsNowhere) {
  const auto made = board(usage(), {"cpu", "memory"});
  EXPECT_EQ(made->is_measured, (std::vector<bool>{true, false}));
  EXPECT_TRUE(made->nodes.contains("n1"));
}

TEST(LoadBoard, AnUnusableSourceKnowsNothing) {
  MeasuredUsage measured = usage();
  measured.problem = "no answer";
  EXPECT_TRUE(board(measured)->nodes.empty());
  MeasuredUsage unknown = usage();
  unknown.nodes[0].now = {kUnknownUsage};
  EXPECT_FALSE(board(unknown)->nodes.contains("n1"));
}

TEST(LoadKeeper, KnowsNothingBeforeSomethingIsMeasured) {
  LoadKeeper keeper({"cpu"});
  EXPECT_FALSE(keeper.loads({"n1"}, pod("p", ""), true, kNow).front());
}

TEST(LoadKeeper, ANewPodCountsWithItsRequestsUntilItIsMeasured) {
  LoadKeeper keeper({"cpu"});
  keeper.replace(board(), kNow);
  const api::Pod waiting = pod("new", "");
  const api::Pod bound = pod("new", "n1");
  keeper.on_pod(nullptr, &waiting, kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 50);
  keeper.on_pod(&waiting, &bound, kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 75);
  keeper.replace(board(), kNow + base::seconds(30));
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 75) << "the new answer does not know it either";
  MeasuredUsage measured = usage();
  measured.pods = {{"shop", "new"}};
  measured.pod_amounts = {900};
  keeper.replace(board(measured), kNow + base::seconds(60));
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 50) << "it is in the node's figure now";
  EXPECT_EQ(keeper.placed(), 0U);
}

TEST(LoadKeeper, WhatItsWorkloadUsesWinsOverRequests) {
  LoadKeeper keeper({"cpu"});
  keeper.replace(board(), kNow);
  const api::Pod waiting = pod("new", "", "known");
  const api::Pod bound = pod("new", "n1", "known");
  keeper.on_pod(&waiting, &bound, kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 55);
}

TEST(LoadKeeper, TheAskedPodIsAddedToEachCandidateAndNeverTwice) {
  LoadKeeper keeper({"cpu"});
  keeper.replace(board(), kNow);
  const api::Pod asked = pod("p", "");
  keeper.expect(asked, "n1", kNow);
  const auto loads = keeper.loads({"n1", "n2", "n3", "n4"}, asked, true, kNow);
  EXPECT_DOUBLE_EQ(loads[0]->mean.front(), 75);
  EXPECT_DOUBLE_EQ(loads[1]->mean.front(), 75);
  EXPECT_FALSE(loads[2]);
  EXPECT_FALSE(loads[3]);
}

TEST(LoadKeeper, AnExpectedPodCountsUntilItShowsElsewhereOrLongEnoughNowhere) {
  LoadKeeper keeper({"cpu"});
  keeper.replace(board(), kNow);
  keeper.expect(pod("p", ""), "n1", kNow);
  keeper.expect(pod("q", ""), "n1", kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 100);
  const api::Pod waiting = pod("p", "");
  const api::Pod bound = pod("p", "n2");
  keeper.on_pod(&waiting, &bound, kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 75);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n2"), 75);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1", kNow + LoadKeeper::kExpectedFor), 50);
}

TEST(LoadKeeper, APodThatLeavesOrEndsCountsNoMore) {
  LoadKeeper keeper({"cpu"});
  keeper.replace(board(), kNow);
  const api::Pod waiting = pod("p", "");
  const api::Pod bound = pod("p", "n1");
  keeper.on_pod(&waiting, &bound, kNow);
  api::Pod done = bound;
  done.phase = api::PodPhase::kSucceeded;
  keeper.on_pod(&bound, &done, kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 50);
  keeper.on_pod(&waiting, &bound, kNow);
  keeper.on_pod(&bound, nullptr, kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 50);
}

TEST(LoadKeeper, APodThatIsRemovedBeforeItHasANodeIsExpectedNoMore) {
  LoadKeeper keeper({"cpu"});
  keeper.replace(board(), kNow);
  const api::Pod waiting = pod("p", "");
  keeper.expect(waiting, "n1", kNow);
  keeper.on_pod(&waiting, &waiting, kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 75) << "it waits";
  keeper.on_pod(&waiting, nullptr, kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 50);
}

TEST(LoadKeeper, OldPodsOfTheFirstListAreMeasuredAlready) {
  LoadKeeper keeper({"cpu"});
  api::Pod old = pod("p", "n1");
  old.start_time = kNow - base::minutes(20);
  keeper.on_pod(nullptr, &old, kNow);
  EXPECT_EQ(keeper.placed(), 0U);
}

TEST(LoadKeeper, OfSourcesWithoutPodsTheNodesTimeDecides) {
  LoadKeeper keeper({"cpu"});
  keeper.replace(board(usage(false)), kNow);
  const api::Pod waiting = pod("p", "");
  const api::Pod bound = pod("p", "n1");
  keeper.on_pod(&waiting, &bound, kNow);
  MeasuredUsage later = usage(false);
  later.nodes[0].time = kNow + base::seconds(119);
  keeper.replace(board(later), kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 75);
  later.nodes[0].time = kNow + LoadKeeper::kWarmUp;
  keeper.replace(board(later), kNow);
  EXPECT_DOUBLE_EQ(cpu_of(keeper, "n1"), 50);
}

}  // namespace keeper_test
}  // namespace extending
