#pragma once

/// Pods whose requests lie, and what they use over days: the load of the closed-loop simulation and of the forecast's
/// error table. The parameters stand fixed here: they were written down before anything was tuned by them.

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace load {

/// What a generated cluster is like. FailureShares are of the whole, times in hours unless they say otherwise.
struct Parameters {
  int nodes = 100;
  int pods_per_node = 30;
  double node_cores = 16;
  double mean_load = 0.45;  ///< what all pods use over a working day, of all cores

  int fewest_replicas = 2;
  int most_replicas = 22;
  double workload_spread = 1.0;  ///< sigma of the logarithm of a workload's use
  double replica_spread = 0.3;   ///< and of its replicas' around it
  double least_cores = 0.02;     ///< of a pod, but for whales
  double most_cores = 2;

  int whale_every = 100;  ///< workloads, beginning with the eleventh; 2 to 4 pods each
  double least_whale = 3;
  double most_whale = 6;

  /// Daily wave: the workload's peak is about one of three hours, as its users are.
  double peak_hours[3] = {10, 15, 21};
  double peak_shares[3] = {0.6, 0.25, 0.15};
  double peak_jitter = 1.5;  ///< either way
  double least_wave = 0.1;   ///< amplitude, of the mean
  double most_wave = 0.7;
  double weekend = 0.7;  ///< of a working day's load

  /// Noise that comes back to nothing: sigma of the mean, and the time in which it forgets.
  double workload_noise = 0.15, workload_memory = 1;
  double pod_noise = 0.2, pod_memory = 1.0 / 6;
  double sample_noise = 0.03;  ///< of the measurement

  /// Bursts multiply: how often, how long, how much.
  double pod_burst_every = 12, pod_burst_least = 1.0 / 6, pod_burst_most = 1, pod_burst_factor = 3;
  double workload_burst_every = 48, workload_burst_least = 1.0 / 3, workload_burst_most = 1.5,
         workload_burst_factor = 2;

  /// A pod that was just started.
  double least_startup = 20, most_startup = 120;               ///< seconds until it runs
  double warm_up = 120, warm_up_factor = 1.5;                  ///< seconds in which it uses more
  std::vector<int> requests = {50, 100, 200, 250, 500, 1000};  ///< thousandths of a core: any of them, whatever it uses
  std::vector<int> memory = {128, 256, 512, 1024};             ///< Mi
};

/// The one source of chance: splitmix64, so that a seed means the same everywhere and each pod has chances of its own.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  ///< [0, 1)
  double between(double least, double most) { return least + (most - least) * uniform(); }
  double normal();  ///< nearly: the sum of four

 private:
  std::uint64_t state_;
};

/// Pods and what they use, in steps of kStep from Monday 00:00 on. What a pod uses does not depend on where it runs, so
/// that ways to place pods are compared under the same load.
class Model {
 public:
  static constexpr base::Duration kStep = base::seconds(30);

  struct Pod {
    int workload = 0;
    int request = 0;  ///< thousandths of a core
    int memory = 0;   ///< Mi
    base::Duration startup{};
  };

  Model(const Parameters& parameters, std::uint64_t seed);

  const Parameters& parameters() const { return parameters_; }
  const std::vector<Pod>& pods() const { return pods_; }
  int workloads() const { return static_cast<int>(shapes_.size()); }
  /// Since the beginning.
  base::Duration time() const { return kStep * steps_; }
  void step();
  /// Cores, by pod, as it would use them where nobody else does.
  const std::vector<double>& use() const { return use_; }
  /// As somebody measures it, with chances of their own: who measures changes nothing for anybody else.
  double measured(double use, Chance& chance) const { return use * (1 + parameters_.sample_noise * chance.normal()); }

 private:
  struct Burst {
    int steps_left = 0;
  };
  struct Shape {
    double peak_hour, wave, noise = 0;
    Burst burst;
    Chance chance;
    double factor = 1;  ///< of all of its pods, now
  };
  struct State {
    double cores, noise = 0;
    Burst burst;
    Chance chance;
  };

  void add_workload(Chance& chance);
  void scale();
  double wave_of(const Shape& shape) const;

  Parameters parameters_;
  Chance chance_;
  std::vector<Shape> shapes_;  ///< by workload
  std::vector<Pod> pods_;
  std::vector<State> states_;  ///< by pod
  std::vector<double> use_;
  std::int64_t steps_ = 0;
};

/// Which node each pod is on at first: where the scheduler puts it that goes by requests, pods in an order of chance.
std::vector<int> place_by_requests(const Model& model, std::uint64_t seed);

}  // namespace load
