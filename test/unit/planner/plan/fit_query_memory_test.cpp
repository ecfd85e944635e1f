/// WhatIf::fit_query() and its cache: shortcuts must not change an answer.

#include <gmock/gmock.h>

#include <random>
#include <vector>

#include "planner/scheduling/predicates.hpp"
#include "planner/scheduling/what_if.hpp"
#include "test/unit/planner/plan/strategy_worlds.hpp"

namespace fit_query_memory_test {

using scheduling::ClusterSnapshot;
using scheduling::FitLevel;
using scheduling::FitQuery;
using scheduling::NodeIndex;
using scheduling::PodIndex;
using scheduling::WhatIf;

struct Move {
  PodIndex pod;
  NodeIndex to;
};

std::vector<std::string> answers(const ClusterSnapshot& cluster, const FitQuery& query) {
  std::vector<std::string> reasons;
  for (const NodeIndex node : cluster.nodes()) {
    const auto refusal = query.refusal(node);
    reasons.push_back(refusal ? refusal->message() : "fits");
  }
  return reasons;
}

/// Answers of a new WhatIf with an empty cache.
std::vector<std::string> answers_anew(const ClusterSnapshot& cluster, const std::vector<Move>& moves, PodIndex pod) {
  WhatIf what_if(cluster);
  for (const Move& move : moves) what_if.move(move.pod, move.to);
  return answers(cluster, FitQuery(what_if, pod, FitLevel::kScheduler));
}

class RandomMoves : public testing::TestWithParam<unsigned> {};

TEST_P(RandomMoves, AnswerLikeANewWhatIf) {
  std::mt19937 random(GetParam());
  const auto below = [&](std::size_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  const ClusterSnapshot cluster(strategy_worlds::RandomWorld(GetParam()).objects());
  WhatIf what_if(cluster);
  std::vector<Move> moves;
  for (int step = 0; step < 40; ++step) {
    const PodIndex pod = below(cluster.pod_count());
    ASSERT_EQ(answers(cluster, *what_if.fit_query(pod, FitLevel::kScheduler)), answers_anew(cluster, moves, pod));
    const PodIndex mover = below(3) == 0 ? below(cluster.pod_count()) : pod;
    moves.push_back({mover, below(4) == 0 ? scheduling::kNoNode : below(cluster.node_count())});
    what_if.move(moves.back().pod, moves.back().to);
    ASSERT_EQ(answers(cluster, *what_if.fit_query(pod, FitLevel::kScheduler)), answers_anew(cluster, moves, pod))
        << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, RandomMoves, testing::Range(1U, 61U));

class SharedQuery : public testing::Test {
 protected:
  SharedQuery() {
    for (const char* node : {"n1", "n2"}) builder_.add(builders::NodeBuilder(node));
    for (const char* pod : {"a", "b"}) builder_.add(builders::PodBuilder(pod).on("n1"));
    cluster_ = builder_.build();
  }
  auto ask(const WhatIf& what_if) const { return what_if.fit_query(0, FitLevel::kScheduler); }

  builders::ClusterBuilder builder_;
  std::shared_ptr<const ClusterSnapshot> cluster_;
};

TEST_F(SharedQuery, IsKeptWhileOnlyThePodItselfMoves) {
  WhatIf what_if(*cluster_);
  const auto first = ask(what_if);
  EXPECT_EQ(ask(what_if), first);
  what_if.move(0, scheduling::kNoNode);
  EXPECT_EQ(ask(what_if), first);
}

TEST_F(SharedQuery, IsRebuiltAfterAMoveOfAnotherPod) {
  WhatIf what_if(*cluster_);
  const auto first = ask(what_if);
  what_if.move(1, 1);
  EXPECT_NE(ask(what_if), first);
}

TEST_F(SharedQuery, IsNotSharedWithACopyThatDiverged) {
  WhatIf what_if(*cluster_);
  WhatIf copy = what_if;
  const auto first = ask(what_if);
  copy.move(1, 1);
  EXPECT_EQ(&ask(copy)->cluster(), &copy);
  EXPECT_EQ(&ask(what_if)->cluster(), &what_if);
}

}  // namespace fit_query_memory_test
