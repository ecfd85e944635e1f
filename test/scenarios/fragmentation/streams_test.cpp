/// Defragmentation searches in streams, one per available thread (ADR 22).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <span>

#include "base/parallel.hpp"
#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"
#include "test/scenarios/fragmentation/clusters.hpp"

namespace streams_test {

using Tasks = std::span<const std::function<void()>>;

planner::Plan plan(std::string_view kind, int nodes, planner::PlanOptions options) {
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"Defragmentation", "{}"});
  const planner::PlanSpec spec(policy);
  const scheduling::ClusterSnapshot cluster(fragmentation::make_cluster(kind, nodes, 1));
  options.spend_pdbs = false;
  options.taint_value = "proof";
  return planner::plan_cycle(
      {.spec = spec, .cluster = cluster, .leaving = {}, .now = builders::kNoon, .options = std::move(options)});
}

class Streams : public testing::TestWithParam<std::string_view> {};

TEST_P(Streams, MakeTheSamePlanOnAnyNumberOfThreads) {
  const planner::Plan alone = plan(GetParam(), 40, {});
  EXPECT_FALSE(alone.moves.empty());
  for (const std::size_t threads : {1, 4}) {
    std::size_t streams = 0;
    planner::PlanOptions options;
    options.executor = [&](Tasks tasks) {
      streams = tasks.size();
      base::run_parallel(tasks, threads);
    };
    EXPECT_EQ(plan(GetParam(), 40, options), alone) << threads << " threads";
    EXPECT_GT(streams, 1U);
  }
}

TEST_P(Streams, MakeTheSamePlanInAnyOrder) {
  planner::PlanOptions backwards;
  backwards.executor = [](Tasks tasks) {
    for (std::size_t i = tasks.size(); i-- > 0;) tasks[i]();
  };
  EXPECT_EQ(plan(GetParam(), 40, backwards), plan(GetParam(), 40, {}));
}

/// Nearly full clusters, in which the search continues after its first plan.
INSTANTIATE_TEST_SUITE_P(Kinds, Streams, testing::Values("crowded", "mixed"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Streams, AllEndWhenTheSearchIsCancelled) {
  std::atomic<bool> is_cancelled{false};
  std::atomic<int> rounds{0};
  std::atomic<int> looks_since{0};
  std::size_t streams = 0;
  planner::PlanOptions options;
  options.is_cancelled = [&] {
    if (is_cancelled) ++looks_since;
    return is_cancelled.load();
  };
  options.executor = [&](Tasks tasks) {
    ++rounds;
    streams = tasks.size();
    is_cancelled = true;
    base::run_parallel(tasks, 4);
    EXPECT_EQ(looks_since, static_cast<int>(streams)) << "each looks once, and then it ends";
  };
  plan("crowded", 40, options);
  EXPECT_EQ(rounds, 1);
}

}  // namespace streams_test
