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

#include "planning/planner.hpp"
#include "scheduling/overlay.hpp"
#include "scheduling/snapshot/snapshot_keeper.hpp"
#include "test/scenarios/load/load_model.hpp"
#include "usage/history.hpp"

namespace load {

/// A way to place pods. Its policy sees one source of usage, under the name "load" and as KubernetesMetrics.
struct Rule {
  std::string name;
  std::string spec;  ///< of a DeschedulerPolicy, as JSON; empty: nobody moves anything
  bool forecast = false;
  bool soft_taints = false;                  ///< the policy may taint nodes
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
  double percentile = 50;
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
  int returned = 0;            ///< moves to the node that the pod had left less than two hours before
  int most_returns = 0;        ///< of one pod in a row: two and more are an oscillation
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

  World(const Model& model, const Settings& settings, Rule rule);

  /// After each step of the model.
  void sample(Model& model);
  /// At the end of each interval.
  void cycle();
  Outcome outcome() const;

 private:
  struct Place {
    int node = 0;
    base::TimePoint runs{};  ///< from then on
    int generation = 0;
    int left = -1;  ///< the node before
    base::TimePoint moved{};
    int returns = 0;  ///< in a row
  };

  base::TimePoint now() const;
  double use_of(const Model& model, std::size_t pod) const;
  std::shared_ptr<const api::Pod> object_of(std::size_t pod) const;
  std::shared_ptr<const scheduling::MeasuredUsage> measured(const std::string& source) const;
  scheduling::MeasuredUsage::Node figures_of(std::size_t node) const;
  void judge();
  void taint(const planning::Plan& plan);
  void apply(const planning::Plan& plan, const scheduling::ClusterSnapshot& cluster);
  int place_by_chance(scheduling::Overlay& cluster, const api::PlannedMove& move);

  Rule rule_;
  Settings settings_;
  std::vector<Model::Pod> kinds_;
  std::vector<Place> places_;  ///< by pod
  std::optional<planning::PlanSpec> spec_;
  scheduling::SnapshotInput input_;
  scheduling::SnapshotKeeper keeper_;
  std::optional<usage::History> history_;
  Chance chance_;
  std::set<std::string> avoided_;  ///< nodes that bear a soft taint
  base::Duration time_{};
  std::vector<std::deque<double>> samples_;  ///< by node: cores, the newest last
  std::vector<double> pods_;                 ///< by pod: cores, measured last; below 0: it was not there
  std::vector<double> sums_;                 ///< by node: the interval's load
  int count_ = 0;                            ///< of samples in it
  Outcome outcome_;
  int cycles_ = 0;
  double hour_ = 0;
};

/// A short run of a small cluster: half a day, eight nodes.
Settings small(std::uint64_t seed);

/// All rules under the same load, from the same placement.
std::vector<Outcome> simulate(const Settings& settings, const std::vector<Rule>& rules);

}  // namespace load
