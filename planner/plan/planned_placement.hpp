#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "planner/plan/target.hpp"
#include "planner/scheduling/what_if.hpp"
#include "planner/strategies/strategy.hpp"

namespace planner {

/// Cost of a prediction for the pod, in affinity terms compared with other pods. Typically 1 to 5.
std::size_t cost_of(const api::Pod& pod);

/// Pods without a node, in a plan and its what-if placements: pods that the scheduler can place, pods with a nominated
/// node, and waiting pods that fit no node, which take capacity freed by moves. At most 200 pods, first those at the
/// front of the scheduler's queue with namespaces in turn, and fewer if pods have very many affinity terms. Expensive
/// waiting pods (cost_of()) take no capacity, and after each move only a few per namespace are checked. Copy it
/// together with its WhatIf. REQUIRES of all calls: the same WhatIf, or its copy. Not thread-safe.
class PendingPods {
 public:
  /// Puts pods that can be placed on their nodes, by priority, then by age. Calls `heartbeat` for each pod.
  void place(WhatIf& cluster, TargetPredictor& predictor, const std::function<void()>& heartbeat = {});

  /// Takes nominated pods of lower priority than `pod` off their nodes, because the scheduler ignores them when it
  /// places `pod`. Call settle() afterwards.
  void free_capacity_for(WhatIf& cluster, PodIndex pod);
  void settle(WhatIf& cluster);

  /// Call after `pod` left `node`. Puts waiting pods that now fit there on the node.
  void take_capacity(WhatIf& cluster, PodIndex pod, NodeIndex node,
                     std::int32_t least_priority = std::numeric_limits<std::int32_t>::min());
  /// Call if `pod` stays after all. Pods that took its capacity wait again.
  void give_back(WhatIf& cluster, PodIndex pod);

 private:
  struct Nominated {
    PodIndex pod;
    NodeIndex node;
    std::int32_t priority;
    bool is_off = false;
  };
  struct Waiting {
    PodIndex pod;
    PodIndex instead_of = scheduling::kNoPod;  ///< the pod whose capacity it took; kNoPod while it waits
  };

  std::vector<Nominated> nominated_;
  std::vector<Waiting> waiting_;  ///< in the order of the queue
};

/// Takes the pod off its node in `cluster` and returns where its replacement is expected, without placing it: next to
/// the old pod, or after it is gone if it has no node before that or is created only then. Returns no node for a pod
/// without a replacement. With kPlan, returns the hinted node (TargetPredictor::predict_hinted()) if the scheduler
/// would choose, or might choose, a node that does not help. REQUIRES: as for TargetPredictor::predict().
enum class TargetChoice { kScheduler, kPlan };
Placement predict_replacement(WhatIf& cluster, TargetPredictor& predictor, PodIndex pod, PendingPods& pending,
                              const Goal& goal = {}, TargetChoice choice = TargetChoice::kScheduler);

/// A copy of a plan's state for a strategy to try moves on. Refers to the snapshot, and to what `choice_of` does.
class PlannedPlacement final : public strategies::WhatIfPlacement {
 public:
  using ChoiceOf = std::function<TargetChoice(PodIndex)>;
  PlannedPlacement(const WhatIf& cluster, const TargetPredictor& predictor, const PendingPods& pending,
                   ChoiceOf choice_of)
      : cluster_(cluster), predictor_(predictor), pending_(pending), choice_of_(std::move(choice_of)) {}
  const WhatIf& cluster() const override { return cluster_; }
  std::optional<NodeIndex> relocate(PodIndex pod, const Goal& goal) override;
  void restore(PodIndex pod) override;
  std::unique_ptr<strategies::WhatIfPlacement> fork() const override {
    return std::make_unique<PlannedPlacement>(*this);
  }
  std::unique_ptr<strategies::WhatIfPlacement> detach() const override {
    return std::make_unique<PlannedPlacement>(cluster_.detached(), predictor_, pending_, choice_of_);
  }
  void avoid(std::string_view key, std::span<const NodeIndex> nodes) override;

 private:
  WhatIf cluster_;
  TargetPredictor predictor_;
  PendingPods pending_;
  ChoiceOf choice_of_;
};

/// Adds `nodes` to the soft taint `key` of `cluster`. Returns false if soft taints of this key are not allowed.
bool add_soft_taint(WhatIf& cluster, std::string_view key, std::span<const NodeIndex> nodes);

}  // namespace planner
