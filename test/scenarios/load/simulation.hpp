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

/// A way to place pods. Its policy sees one source of usage, under the name "load" and as KubernetesMetrics.
struct Rule {
  std::string name;
  std::string spec;  ///< of a DeschedulerPolicy, as JSON; empty: nobody moves anything
  bool forecast = false;
  bool soft_taints = false;                  ///< the policy may taint nodes
  bool is_guarded = false;                   ///< by the guard of convergence, as in the operator; upstream has none
  base::Duration window = base::minutes(5);  ///< of the smoothing: a mean; 5m: as a source has it by itself
  api::UsageForecast settings{};
};
Rule no_descheduling();
/// Upstream's LowNodeUtilization with fixed thresholds 20/50, or with deviation thresholds 10:10.
Rule upstream_static();
Rule upstream_deviation();
/// What a user of ours may set. The defaults are what the comparison is made with; see docs/concepts/usage.md.
struct Choices {
  double low = 8, high = 8;  ///< points from the mean
  int window = 5;            ///< minutes of smoothing
  int samples = 3, of = 5;   ///< hysteresis
  int horizon = 60;          ///< minutes
  double percentile = 50;    ///< of the forecast
  std::string min_pod_age = "2h";
  double min_score = 30;  ///< of a move
};
/// LowNodeUtilization with `usage`.
Rule ours(bool forecast, const Choices& choices = {});

struct Settings {
  Parameters parameters{};
  std::uint64_t seed = 1;
  base::Duration length = std::chrono::hours(72);
  base::Duration settled = std::chrono::hours(24);  ///< what is measured begins then
  /// The scheduler decides by chance among the nodes that it likes equally, whatever the plan foresaw. Otherwise pods
  /// go where the plan foresaw them.
  bool by_chance = false;
  int nodes_a_move = 10;  ///< at most one move for so many nodes in a cycle
};

struct Outcome {
  double deviation = 0;        ///< standard deviation of the nodes' load in points of percent: mean over the cycles
  double peak = 0;             ///< load of the fullest node in percent: mean over the cycles
  double crowded = 0;          ///< share of nodes and cycles with a load above 90 %
  int moves = 0;               ///< from the beginning on
  int early_moves = 0;         ///< of these, before what is measured
  int room = 0;                ///< moves that only turned the scheduler
  int returned = 0;            ///< moves to a node that the pod had left less than World::kReturn before
  int needless = 0;            ///< of these, without need: see there
  int most_needless = 0;       ///< of one pod within World::kReturn: two and more are an oscillation
  int most_moves = 0;          ///< of one pod within World::kReturn
  int stopped = 0;             ///< cycles in which the guard of convergence let nothing move
  double trusted = 0;          ///< share of the nodes' forecasts, at the end
  int taint_patches = 0;       ///< of nodes
  double open = 0;             ///< share of the nodes that bear no soft taint: mean over the cycles
  std::vector<double> hourly;  ///< the same deviation, hour by hour
  std::vector<std::string> problems;  ///< what strategies could not judge, each once
  std::map<std::string, int> refused;
};

/// One rule's cluster.
class World {
 public:
  static constexpr base::Duration kCycle = base::minutes(5);
  /// A pod that comes to a node which it left less than that before returns. The return is needless when nothing
  /// has changed that it could answer to: the node is as full again as when the pod left it, and the one that it leaves
  /// now is no fuller than when it came, but for kNoise. Loads are in points from the mean of all nodes, so that the
  /// daily wave is no change.
  static constexpr base::Duration kReturn = std::chrono::hours(12);
  static constexpr double kNoise = 3;  ///< what a node's load varies by within an hour: one standard deviation

  World(const Model& model, const Settings& settings, Rule rule);

  /// After each step of the model.
  void sample(const Model& model);
  /// At the end of each interval.
  void cycle();
  Outcome outcome() const;

 private:
  struct Leave {
    int node;
    base::TimePoint time;
    double load;  ///< of the node then
    bool is_needless_return = false;
  };
  struct Place {
    int node = 0;
    base::TimePoint runs{};  ///< from then on
    int generation = 0;
    base::TimePoint moved{};
    double arrived = 0;           ///< load of the node after the cycle in which the pod came
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
  api::DeschedulerPolicy policy_;  ///< with what its status remembers
  std::optional<planner::PlanSpec> spec_;
  scheduling::SnapshotInput input_;
  scheduling::SnapshotCache poller_;
  std::optional<usage::History> history_;
  Chance chance_;                  ///< of the scheduler
  Chance measuring_;               ///< of the source: the same errors for every rule
  std::set<std::string> avoided_;  ///< nodes that bear a soft taint
  base::Duration time_{};
  std::vector<std::deque<double>> samples_;  ///< by node: cores, the newest last
  std::vector<double> pods_;                 ///< by pod: cores, measured last; below 0: it was not there
  controllers::PodMeans means_;
  scheduling::SharedVector<scheduling::MeasuredUsage::Pod> measured_pods_;
  scheduling::SharedVector<std::int64_t> pod_amounts_;  ///< of measured_pods_
  scheduling::SharedVector<std::int64_t> pod_means_;    ///< the same
  std::vector<double> sums_;                            ///< by node: the interval's load
  int count_ = 0;                                       ///< of samples in it
  std::vector<double> loads_;        ///< by node: the last interval's mean, in points from the mean of all
  std::vector<double> moved_loads_;  ///< the same with the cycle's moves
  Outcome outcome_;
  int cycles_ = 0;
  double hour_ = 0;
};

/// The better of upstream's two: the one that leaves nodes more even.
const Outcome& better_of(const std::vector<Outcome>& upstream);

/// A short run of a small cluster: a day, eight nodes.
Settings small(std::uint64_t seed);

/// All rules under the same load, from the same placement. None has any influence on another.
std::vector<Outcome> simulate(const Settings& settings, const std::vector<Rule>& rules);

}  // namespace load
