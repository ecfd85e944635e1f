#pragma once

#include <vector>

#include "planner/scheduling/scoring/scheduler_rules.hpp"
#include "planner/scheduling/what_if.hpp"

namespace strategies {

/// Which of a pod's preferences count.
struct CountedPreferences {
  bool node_affinity = true;    ///< preferred node affinity
  bool pod_affinity = true;     ///< preferred pod affinity and anti-affinity
  bool topology_spread = true;  ///< spread constraints with ScheduleAnyway
  friend bool operator==(const CountedPreferences&, const CountedPreferences&) = default;
};

/// How much better a pod's preferences would be met on other nodes, in points of kube-scheduler's scale: the weighted
/// mean, over the preferences that the pod states and that count, of what each score (0 to 100) would gain.
class PreferenceGain {
 public:
  PreferenceGain(const scheduling::SchedulerRules& rules, const CountedPreferences& counted)
      : rules_(rules), counted_(counted) {}

  /// By node; -100 … 100, and kNowhere where the pod does not fit.
  static constexpr double kNowhere = -1000;
  struct Gains {
    std::vector<double> points;  ///< empty: no node is better
    double most = 0;
    double at(scheduling::NodeIndex node) const { return points.empty() ? kNowhere : points[node]; }
  };
  /// REQUIRES: the pod is on a node of `cluster`, and states() is true.
  Gains of(const scheduling::WhatIf& cluster, scheduling::PodIndex pod) const;

  /// The same as if the pod fit on all nodes.
  Gains if_it_fit(const scheduling::WhatIf& cluster, scheduling::PodIndex pod) const;

  /// The pod has a preference that counts.
  bool states(const api::Pod& pod) const;

 private:
  enum class Among { kWhereItFits, kAll };
  Gains gains(const scheduling::WhatIf& cluster, scheduling::PodIndex pod, Among among) const;
  scheduling::SchedulerRules rules_for(const api::Pod& pod) const;

  scheduling::SchedulerRules rules_;
  CountedPreferences counted_;
};

}  // namespace strategies
