#pragma once

#include <vector>

#include "planner/scheduling/scoring/scheduler_rules.hpp"
#include "planner/strategies/scheduling_names.hpp"

namespace strategies {

/// Preferences of a pod that are counted.
struct CountedPreferences {
  bool node_affinity = true;    ///< Preferred node affinity
  bool pod_affinity = true;     ///< Preferred pod affinity and anti-affinity
  bool topology_spread = true;  ///< Spread constraints with ScheduleAnyway
};

/// Gain in meeting a pod's preferences on other nodes, in points of kube-scheduler's scale: the weighted mean, over
/// the pod's counted preferences, of the increase of each score (0 to 100).
class PreferenceGain {
 public:
  PreferenceGain(const scheduling::SchedulerRules& rules, const CountedPreferences& counted)
      : rules_(rules), counted_(counted) {}

  /// Value for nodes where the pod does not fit. Gains range from -100 to 100.
  static constexpr double kDoesNotFit = -1000;
  struct Gains {
    std::vector<double> points;  ///< By node; empty if no node is better
    double most = 0;
    double at(NodeIndex node) const { return points.empty() ? kDoesNotFit : points[node]; }
  };
  /// REQUIRES: the pod is on a node of `cluster`, and states() is true.
  Gains of(const WhatIf& cluster, PodIndex pod) const;

  /// Returns the gains as if the pod fit on all nodes.
  Gains if_it_fit(const WhatIf& cluster, PodIndex pod) const;

  /// Returns whether the pod has a counted preference.
  bool states(const api::Pod& pod) const;

 private:
  enum class Among { kWhereItFits, kAll };
  Gains gains(const WhatIf& cluster, PodIndex pod, Among among) const;
  scheduling::SchedulerRules rules_for(const api::Pod& pod) const;

  scheduling::SchedulerRules rules_;
  CountedPreferences counted_;
};

}  // namespace strategies
