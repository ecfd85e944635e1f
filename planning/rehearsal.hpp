#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "planning/target.hpp"
#include "scheduling/overlay.hpp"
#include "strategies/strategy.hpp"

namespace planning {

/// Takes the pod off its node in `cluster` and says where its replacement is expected, without putting it there: beside
/// the old pod, or if it has no place there or comes later, once that is gone. No node for a pod that nobody replaces.
/// With kPlan, where the scheduler would take another node than one that helps, or might, the hinted one
/// (TargetPredictor::predict_hinted()). REQUIRES: as for
/// TargetPredictor::predict().
enum class TargetChoice { kScheduler, kPlan };
Placement take_off(scheduling::Overlay& cluster, TargetPredictor& predictor, scheduling::PodIndex pod,
                   const strategies::Goal& goal = {}, TargetChoice choice = TargetChoice::kScheduler);

/// A copy of a plan's state for a strategy to try moves on. Refers to the snapshot, and to what `choice_of` does.
class PlanRehearsal final : public strategies::Rehearsal {
 public:
  using ChoiceOf = std::function<TargetChoice(scheduling::PodIndex)>;
  PlanRehearsal(const scheduling::Overlay& cluster, const TargetPredictor& predictor, ChoiceOf choice_of)
      : cluster_(cluster), predictor_(predictor), choice_of_(std::move(choice_of)) {}
  const scheduling::Overlay& cluster() const override { return cluster_; }
  std::optional<scheduling::NodeIndex> relocate(scheduling::PodIndex pod, const strategies::Goal& goal) override;
  void restore(scheduling::PodIndex pod) override { cluster_.restore(pod); }
  void avoid(std::string_view key, std::span<const scheduling::NodeIndex> nodes) override;

 private:
  scheduling::Overlay cluster_;
  TargetPredictor predictor_;
  ChoiceOf choice_of_;
};

/// Puts the soft taint `key` of `cluster` on `nodes`, too. False: it has none of that key, which is then not allowed.
bool add_soft_taint(scheduling::Overlay& cluster, std::string_view key, std::span<const scheduling::NodeIndex> nodes);

}  // namespace planning
