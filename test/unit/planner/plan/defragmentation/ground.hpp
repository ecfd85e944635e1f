#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "planner/plan/plan_builder.hpp"
#include "planner/strategies/defragmentation/node_choice.hpp"
#include "planner/strategies/defragmentation/packing.hpp"
#include "planner/strategies/defragmentation/wave_planner.hpp"
#include "test/builders/cluster.hpp"

namespace planner {

/// Fixture with all inputs of a search for a defragmentation plan.
class DefragmentationGround {
 public:
  explicit DefragmentationGround(const builders::ClusterBuilder& cluster)
      : cluster_(cluster.build()),
        nodes_(cluster_->nodes().begin(), cluster_->nodes().end()),
        evictability_(spec_.evictability, *cluster_, builders::kNoon, errors_, spec_.compatibility),
        builder_(input_, evictability_, nodes_, plan_) {
    builder_.begin("Defragmentation");
  }

  const strategies::DefragmentationProblem& problem() const { return problem_; }
  std::unique_ptr<strategies::WhatIfPlacement> try_placements() const { return builder_.try_placements(); }
  scheduling::NodeIndex node(std::string_view name) const { return cluster_->find_node(name).value(); }

  std::vector<std::string> chosen(std::size_t most_moves = SIZE_MAX) {
    const strategies::Capacities capacities(problem_);
    return names_of(strategies::choose_nodes(problem_, capacities, most_moves, budget_, rng_));
  }

  /// Returns "pod > node" for each move that empties the node, or an empty list if it cannot be emptied.
  std::vector<std::string> packed(std::string_view emptied, strategies::PackingStyle style) {
    std::vector<bool> takes(cluster_->node_count(), true);
    takes[node(emptied)] = false;
    strategies::Packing packing(problem_, problem_.cluster(), takes, strategies::WorkloadCounts(problem_), style,
                                budget_, rng_);
    if (!packing.place_all(problem_.pods_on(node(emptied)))) return {};
    std::vector<std::string> moves;
    for (const strategies::PackedMove& move : packing.moves())
      moves.push_back(cluster_->pod(move.pod).meta.name + " > " + cluster_->node(move.to).meta.name);
    return moves;
  }

  /// Returns "wave: pod from > to" in the order of the moves of one attempt to empty the node.
  std::vector<std::string> empty(std::string_view name) {
    std::vector<bool> emptying(cluster_->node_count(), false);
    emptying[node(name)] = true;
    strategies::WavePlanner realization(problem_, try_placements(), emptying, builder_.chooses_targets(), {}, budget_,
                                        rng_);
    EXPECT_TRUE(realization.run(SIZE_MAX));
    std::vector<std::string> moves;
    for (const strategies::WaveMove& move : realization.moves()) {
      moves.push_back(std::to_string(move.wave) + ": " + cluster_->pod(move.pod).meta.name + " " +
                      cluster_->node(move.from).meta.name + " > " + cluster_->node(move.to).meta.name);
    }
    return moves;
  }

 private:
  std::vector<std::string> names_of(const std::vector<bool>& nodes) const {
    std::vector<std::string> names;
    for (scheduling::NodeIndex i = 0; i < nodes.size(); ++i) {
      if (nodes[i]) names.push_back(cluster_->node(i).meta.name);
    }
    return names;
  }

  std::unique_ptr<const scheduling::ClusterSnapshot> cluster_;
  std::vector<scheduling::NodeIndex> nodes_;
  PlanSpec spec_{api::DeschedulerPolicySpec{}};
  PlanInput input_{.spec = spec_,
                   .cluster = *cluster_,
                   .leaving = {},
                   .now = builders::kNoon,
                   .options = {.spend_pdbs = false, .taint_value = "p"}};
  api::FieldErrors errors_;
  scheduling::EvictabilityRules evictability_;
  Plan plan_;
  PlanBuilder builder_;
  strategies::StrategyContext context_{builder_.what_if(), nodes_, evictability_, builders::kNoon};
  strategies::Defragmentation rules_;
  strategies::DefragmentationProblem problem_{context_, builder_, rules_};
  strategies::SearchBudget budget_{1'000'000'000, {}};
  strategies::Rng rng_{1};
};

}  // namespace planner
