#include "planner/strategies/listing.hpp"

#include <gtest/gtest.h>

#include "test/builders/cluster.hpp"

namespace trial_test {

using strategies::NodeIndex;
using strategies::PodIndex;
using strategies::StrategyWhatIf;

class TrialTest : public testing::Test {
 protected:
  TrialTest() {
    builders::ClusterBuilder builder;
    for (const char* node : {"n1", "n2", "n3"}) builder.add(builders::NodeBuilder(node));
    for (const char* pod : {"a", "b"}) builder.add(builders::PodBuilder(pod).on("n1"));
    cluster_ = builder.build();
    what_if_.emplace(*cluster_);
    rules_.emplace(spec_, *cluster_, builders::kNoon, errors_);
    context_.emplace(strategies::StrategyContext{*what_if_, {}, *rules_, builders::kNoon});
  }

  api::Evictability spec_;
  api::FieldErrors errors_;
  std::shared_ptr<const scheduling::ClusterSnapshot> cluster_;
  std::optional<scheduling::WhatIf> what_if_;
  std::optional<scheduling::EvictabilityRules> rules_;
  std::optional<strategies::StrategyContext> context_;
};

TEST_F(TrialTest, SeesThePredictionOfTheSink) {
  StrategyWhatIf trial(*context_);
  what_if_->move(0, 2);
  EXPECT_EQ(trial.place(0, 1), 2U) << "the sink says another one";
  EXPECT_EQ(&trial.cluster(), &*what_if_) << "no copy is needed";
}

TEST_F(TrialTest, PlacesThePodOnTheExpectedNodeIfTheSinkHasNoPrediction) {
  StrategyWhatIf trial(*context_);
  EXPECT_EQ(trial.place(0, 1), 1U);
  EXPECT_EQ(trial.cluster().node_of(0), 1U);
  EXPECT_EQ(what_if_->node_of(0), 0U);
}

TEST_F(TrialTest, KeepsItsOwnViewAfterwards) {
  StrategyWhatIf trial(*context_);
  trial.place(0, 1);
  what_if_->move(1, 2);
  EXPECT_EQ(trial.place(1, 1), 2U);
  EXPECT_EQ(trial.cluster().node_of(0), 1U);
  EXPECT_EQ(trial.cluster().node_of(1), 2U);
}

}  // namespace trial_test
