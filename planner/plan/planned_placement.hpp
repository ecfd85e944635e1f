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

namespace planning {

/// What a prediction for the pod costs, in affinity terms that are compared with other pods. Most pods cost 1 to 5.
std::size_t cost_of(const api::Pod& pod);

/// Pods without a node, in a plan and in its rehearsals: those that the scheduler can place, those for which it has
/// nominated a node, and those that nothing fits, which take what moves set free. At most 200 of them, the first ones
/// of the scheduler's queue with namespaces in turns, and fewer where pods have very many affinity terms. Of those that
/// nothing fits, expensive ones (cost_of()) take nothing, and after each move a few of each namespace are asked. A copy
/// goes with a copy of the overlay. REQUIRES of all calls: the overlay is always the same one, or that copy. One
/// thread.
class PendingPods {
 public:
  /// Puts those that can be placed on their nodes: by priority, then by age. `heartbeat`: called for each of them.
  void place(scheduling::WhatIf& cluster, TargetPredictor& predictor, const std::function<void()>& heartbeat = {});

  /// Takes nominated pods of lower priority than `pod` off their nodes: the scheduler does not heed them when it places
  /// that one. To be followed by settle().
  void free_capacity_for(scheduling::WhatIf& cluster, scheduling::PodIndex pod);
  void settle(scheduling::WhatIf& cluster);

  /// `pod` has left `node`: pods that nothing fitted, and that fit there now, take the place.
  void take_capacity(scheduling::WhatIf& cluster, scheduling::PodIndex pod, scheduling::NodeIndex node,
                     std::int32_t least_priority = std::numeric_limits<std::int32_t>::min());
  /// `pod` stays where it was: those that took its place wait again.
  void give_back(scheduling::WhatIf& cluster, scheduling::PodIndex pod);

 private:
  struct Nominated {
    scheduling::PodIndex pod;
    scheduling::NodeIndex node;
    std::int32_t priority;
    bool is_off = false;
  };
  struct Waiting {
    scheduling::PodIndex pod;
    scheduling::PodIndex instead_of = scheduling::kNoPod;  ///< the pod whose place it has; kNoPod: it waits
  };

  std::vector<Nominated> nominated_;
  std::vector<Waiting> waiting_;  ///< in the queue's order
};

/// Takes the pod off its node in `cluster` and says where its replacement is expected, without putting it there: beside
/// the old pod, or if it has no place there or comes later, once that is gone. No node for a pod that nobody replaces.
/// With kPlan, where the scheduler would take another node than one that helps, or might, the hinted one
/// (TargetPredictor::predict_hinted()). REQUIRES: as for
/// TargetPredictor::predict().
enum class TargetChoice { kScheduler, kPlan };
Placement take_off(scheduling::WhatIf& cluster, TargetPredictor& predictor, scheduling::PodIndex pod,
                   PendingPods& pending, const strategies::Goal& goal = {},
                   TargetChoice choice = TargetChoice::kScheduler);

/// A copy of a plan's state for a strategy to try moves on. Refers to the snapshot, and to what `choice_of` does.
class PlannedPlacement final : public strategies::WhatIfPlacement {
 public:
  using ChoiceOf = std::function<TargetChoice(scheduling::PodIndex)>;
  PlannedPlacement(const scheduling::WhatIf& cluster, const TargetPredictor& predictor, const PendingPods& pending,
                ChoiceOf choice_of)
      : cluster_(cluster), predictor_(predictor), pending_(pending), choice_of_(std::move(choice_of)) {}
  const scheduling::WhatIf& cluster() const override { return cluster_; }
  std::optional<scheduling::NodeIndex> relocate(scheduling::PodIndex pod, const strategies::Goal& goal) override;
  void restore(scheduling::PodIndex pod) override;
  std::unique_ptr<strategies::WhatIfPlacement> fork() const override { return std::make_unique<PlannedPlacement>(*this); }
  std::unique_ptr<strategies::WhatIfPlacement> detach() const override {
    return std::make_unique<PlannedPlacement>(cluster_.detached(), predictor_, pending_, choice_of_);
  }
  void avoid(std::string_view key, std::span<const scheduling::NodeIndex> nodes) override;

 private:
  scheduling::WhatIf cluster_;
  TargetPredictor predictor_;
  PendingPods pending_;
  ChoiceOf choice_of_;
};

/// Puts the soft taint `key` of `cluster` on `nodes`, too. False: it has none of that key, which is then not allowed.
bool add_soft_taint(scheduling::WhatIf& cluster, std::string_view key, std::span<const scheduling::NodeIndex> nodes);

}  // namespace planning
