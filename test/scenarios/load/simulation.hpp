#pragma once

/// The closed loop in virtual time: load → samples → figures and forecasts → plan → moves → load.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/policy/decide.hpp"
#include "controllers/policy/usage/pod_means.hpp"
#include "planner/scheduling/what_if.hpp"
#include "planner/snapshot/snapshot_cache.hpp"
#include "test/scenarios/load/load_model.hpp"
#include "usage/history.hpp"

namespace load {

/// A placement rule. Its policy has one usage source, with the name "load" and as KubernetesMetrics.
struct Rule {
  std::string name;
  std::string spec;  ///< spec of a DeschedulerPolicy as JSON; empty if nothing is moved
  bool forecast = false;
  bool soft_taints = false;  ///< whether the policy may taint nodes
  bool is_guarded = false;   ///< whether the convergence guard applies, as in the operator; upstream has none
  base::Duration window = base::minutes(5);  ///< smoothing window with the mean; 5m for the source's own window
  api::UsageForecast settings{};
};
Rule no_descheduling();
/// Upstream's LowNodeUtilization with fixed thresholds 20/50, or with deviation thresholds 10:10.
Rule upstream_static();
Rule upstream_deviation();
/// Settings of Evacuator's rule. The comparison uses the defaults; see docs/concepts/usage.md.
struct Choices {
  double low = 8, high = 8;  ///< points from the mean
  int window = 5;            ///< minutes of smoothing
  int samples = 3, of = 5;   ///< hysteresis
  int horizon = 60;          ///< minutes
  double percentile = 50;    ///< percentile of the forecast
  std::string min_pod_age = "2h";
  double min_score = 30;  ///< minimum score of a move
};
/// Returns LowNodeUtilization with `usage`.
Rule ours(bool forecast, const Choices& choices = {});

struct Settings {
  Parameters parameters{};
  std::uint64_t seed = 1;
  base::Duration length = std::chrono::hours(72);
  base::Duration settled = std::chrono::hours(24);  ///< start of the measurement
  /// If true, the scheduler chooses randomly among the best nodes, independent of the plan. Otherwise pods move to
  /// their predicted nodes.
  bool by_chance = false;
  int nodes_a_move = 10;  ///< number of nodes per allowed move in a cycle
};

struct Outcome {
  double deviation = 0;   ///< standard deviation of the nodes' load in percentage points, mean over the cycles
  double peak = 0;        ///< load of the fullest node in percent, mean over the cycles
  double crowded = 0;     ///< share of nodes and cycles with a load above 90 %
  int moves = 0;          ///< number of moves from the beginning on
  int early_moves = 0;    ///< number of moves before the start of the measurement
  int room = 0;           ///< number of moves whose purpose is to free capacity for large requests
  int returned = 0;       ///< number of moves to a node that the pod had left less than World::kReturn before
  int needless = 0;       ///< number of needless returns: see World::kReturn
  int most_needless = 0;  ///< maximum number of needless returns of one pod within World::kReturn; two or more are an
                          ///< oscillation
  int most_moves = 0;     ///< maximum number of moves of one pod within World::kReturn
  int stopped = 0;        ///< number of cycles in which the convergence guard stopped all moves
  double trusted = 0;     ///< share of trusted forecasts of nodes at the end
  int taint_patches = 0;  ///< number of patches of nodes
  double open = 0;        ///< share of nodes without soft taint, mean over the cycles
  std::vector<double> hourly;         ///< deviation by hour
  std::vector<std::string> problems;  ///< problems of strategies, without duplicates
  std::map<std::string, int> refused;
};

/// The cluster of one rule.
class World {
 public:
  static constexpr base::Duration kCycle = base::minutes(5);
  /// A pod returns if it moves to a node that it left less than kReturn before. The return is needless if nothing has
  /// changed to justify it: except for kNoise, the target is at least as full as when the pod left it, and the source
  /// is at most as full as when the pod arrived. Loads are in points from the mean of all nodes, so that the daily
  /// cycle does not count as a change.
  static constexpr base::Duration kReturn = std::chrono::hours(12);
  static constexpr double kNoise = 3;  ///< variation of a node's load within an hour: one standard deviation

  World(const Model& model, const Settings& settings, Rule rule);

  /// Call after each step of the model.
  void sample(const Model& model);
  /// Call at the end of each interval.
  void cycle();
  Outcome outcome() const;

 private:
  struct Leave {
    int node;
    base::TimePoint time;
    double load;  ///< load of the node at that time
    bool is_needless_return = false;
  };
  struct Place {
    int node = 0;
    base::TimePoint runs{};  ///< start of the current pod
    int generation = 0;
    base::TimePoint moved{};
    double arrived = 0;           ///< load of the node after the cycle in which the pod arrived
    std::vector<Leave> leaves{};  ///< within kReturn, the latest last
  };

  base::TimePoint now() const;
  double use_of(const Model& model, std::size_t pod) const;
  std::shared_ptr<const api::Pod> object_of(std::size_t pod) const;
  void keep_means();
  std::shared_ptr<const scheduling::MeasuredUsage> measured(const std::string& source) const;
  scheduling::MeasuredUsage::Node figures_of(std::size_t node) const;
  void judge();
  controllers::CycleOutcome planned(const scheduling::ClusterSnapshot& cluster);
  void remember(const controllers::CycleOutcome& outcome);
  void note(const controllers::CycleOutcome& outcome);
  void taint(const std::vector<planner::NodeTaint>& taints);
  void apply(const controllers::CycleOutcome& outcome, const scheduling::ClusterSnapshot& cluster);
  void move(std::size_t pod, int to);
  void count_return(std::size_t pod, int to);
  double share_of(std::size_t pod) const;
  int place_by_chance(scheduling::WhatIf& cluster, const api::PlannedMove& move);

  Rule rule_;
  Settings settings_;
  std::vector<Model::Pod> kinds_;
  std::vector<Place> places_;      ///< by pod
  api::DeschedulerPolicy policy_;  ///< with its status
  std::optional<planner::PlanSpec> spec_;
  scheduling::SnapshotInput input_;
  scheduling::SnapshotCache snapshots_;
  std::optional<usage::History> history_;
  Chance chance_;                  ///< randomness of the scheduler
  Chance measuring_;               ///< randomness of the source: equal errors for every rule
  std::set<std::string> avoided_;  ///< nodes with a soft taint
  base::Duration time_{};
  std::vector<std::deque<double>> samples_;  ///< by node: cores, the newest last
  std::vector<double> pods_;                 ///< last measured cores by pod; negative if the pod did not exist
  controllers::PodMeans means_;
  scheduling::SharedVector<scheduling::MeasuredUsage::Pod> measured_pods_;
  scheduling::SharedVector<std::int64_t> pod_amounts_;  ///< amounts of measured_pods_
  scheduling::SharedVector<std::int64_t> pod_means_;    ///< means of measured_pods_
  std::vector<double> sums_;                            ///< sum of the interval's samples by node
  int count_ = 0;                                       ///< number of samples in the interval
  std::vector<double> loads_;        ///< mean of the last interval by node, in points from the mean of all nodes
  std::vector<double> moved_loads_;  ///< loads_ including the cycle's moves
  Outcome outcome_;
  int cycles_ = 0;
  double hour_ = 0;
};

/// Returns the outcome of upstream's rules with the lower deviation.
const Outcome& better_of(const std::vector<Outcome>& upstream);

/// Returns settings for a short run of a small cluster: one day, eight nodes.
Settings small(std::uint64_t seed);

/// Runs all rules under the same load from the same placement. The rules do not influence each other.
std::vector<Outcome> simulate(const Settings& settings, const std::vector<Rule>& rules);

}  // namespace load
