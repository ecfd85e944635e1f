#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "scheduling/overlay.hpp"
#include "strategies/strategy.hpp"

namespace planning {

/// Foretells where the scheduler puts the replacement of a pod: of the nodes that pass every predicate, the one with
/// most of its cpu and memory free afterwards (LeastAllocated, in whole percents as the scheduler counts); ties by
/// name.
class TargetPredictor {
 public:
  explicit TargetPredictor(const scheduling::ClusterSnapshot& cluster);

  /// The best of the nodes that `goal` accepts; empty: of all. nullopt: it fits on none of them. REQUIRES: `cluster` is
  /// over the same snapshot.
  std::optional<scheduling::NodeIndex> predict(const scheduling::Overlay& cluster, scheduling::PodIndex pod,
                                               const strategies::Goal& goal = {});

 private:
  struct Rank {
    std::int32_t score;
    scheduling::NodeIndex node;
  };
  template <typename F>
  void for_each_with_room(const scheduling::Overlay& cluster, scheduling::PodIndex pod, F&& each) const;

  std::vector<double> percent_per_cpu_;  ///< by node: 100 / allocatable
  std::vector<double> percent_per_memory_;
  std::vector<Rank> ranks_;  ///< kept between calls for its storage
};

/// True if somebody makes a new pod when this one goes, and the scheduler is free to choose its node.
bool has_replacement(const api::Pod& pod);

}  // namespace planning
