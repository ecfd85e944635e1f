#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "scheduling/overlay.hpp"
#include "strategies/strategy.hpp"

namespace planning {

/// Foretells where the scheduler puts the replacement of a pod: of the nodes that pass every predicate, the one with
/// most of its cpu and memory free afterwards (LeastAllocated, in whole percents as the scheduler counts); ties by
/// name. Keeps the nodes' scores for each set of requests and looks again only at nodes that changed, so asking costs
/// about as much as the nodes that are tried. Scores: one byte for each node and set of requests, at most kMostRankings
/// sets.
class TargetPredictor {
 public:
  explicit TargetPredictor(const scheduling::ClusterSnapshot& cluster);

  /// The best of the nodes that `goal` accepts; empty: of all. nullopt: it fits on none of them. REQUIRES: `cluster` is
  /// over the same snapshot, and always the same one (a copy of this object goes with a copy of the overlay).
  std::optional<scheduling::NodeIndex> predict(const scheduling::Overlay& cluster, scheduling::PodIndex pod,
                                               const strategies::Goal& goal = {});

 private:
  static constexpr int kBestScore = 100;
  static constexpr std::uint8_t kNoRoom = 255;
  static constexpr std::size_t kMostRankings = 1024;

  /// The nodes by their score for one set of requests.
  struct Ranking {
    std::vector<std::uint8_t> score;                       ///< by node; kNoRoom: too small
    std::array<std::uint32_t, kBestScore + 1> with_score;  ///< how many nodes
    std::size_t seen = 0;                                  ///< how many of the overlay's changes it knows
  };
  Ranking& ranking_of(const scheduling::Overlay& cluster, scheduling::PodIndex pod);
  std::uint8_t score(const scheduling::Overlay& cluster, const scheduling::RequestSet& requests,
                     scheduling::NodeIndex node) const;

  std::vector<double> percent_per_cpu_;  ///< by node: 100 / allocatable
  std::vector<double> percent_per_memory_;
  std::unordered_map<std::uint32_t, Ranking> rankings_;  ///< by set of requests
};

/// True if somebody makes a new pod when this one goes, and the scheduler is free to choose its node.
bool has_replacement(const api::Pod& pod);

}  // namespace planning
