#pragma once

/// Pods with misleading requests and their usage over days: the load of the closed-loop simulation and of the
/// forecast's error table. The parameters are fixed; they were chosen before anything was tuned with them.

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace load {

/// Parameters of a generated cluster. Shares are fractions of the total, times are in hours unless stated
/// otherwise.
struct Parameters {
  int nodes = 100;
  int pods_per_node = 30;
  double node_cores = 16;
  double mean_load = 0.45;  ///< mean usage of all pods on a working day, as a fraction of all cores

  int fewest_replicas = 2;
  int most_replicas = 22;
  double workload_spread = 1.0;  ///< sigma of the logarithm of a workload's usage
  double replica_spread = 0.3;   ///< sigma of the logarithm of a replica's usage, relative to its workload
  double least_cores = 0.02;     ///< limits of a pod's usage, except for whales
  double most_cores = 2;

  int whale_every = 100;  ///< every n-th workload is a whale, starting with the eleventh; 2 to 4 pods each
  double least_whale = 3;
  double most_whale = 6;

  /// Daily cycle: the peak of a workload is near one of these hours, as for its users.
  double peak_hours[3] = {10, 15, 21};
  double peak_shares[3] = {0.6, 0.25, 0.15};
  double peak_jitter = 1.5;  ///< maximum deviation in both directions
  double least_wave = 0.1;   ///< limits of the amplitude relative to the mean
  double most_wave = 0.7;
  double weekend = 0.7;  ///< relative to a working day's load

  /// Mean-reverting noise: sigma relative to the mean, and decay time.
  double workload_noise = 0.15, workload_memory = 1;
  double pod_noise = 0.2, pod_memory = 1.0 / 6;
  double sample_noise = 0.03;  ///< sigma of the measurement

  /// Bursts multiply the usage: mean interval, limits of the duration, factor.
  double pod_burst_every = 12, pod_burst_least = 1.0 / 6, pod_burst_most = 1, pod_burst_factor = 3;
  double workload_burst_every = 48, workload_burst_least = 1.0 / 3, workload_burst_most = 1.5,
         workload_burst_factor = 2;

  /// Startup of a pod.
  double least_startup = 20, most_startup = 120;  ///< limits of the time until it runs, in seconds
  double warm_up = 120, warm_up_factor = 1.5;     ///< duration of the higher usage after the start, in seconds, and its
                                                  ///< factor
  std::vector<int> requests = {50, 100, 200, 250, 500, 1000};  ///< possible requests in millicores, independent of the
                                                               ///< usage
  std::vector<int> memory = {128, 256, 512, 1024};             ///< Mi
};

/// The only source of randomness: splitmix64. A seed gives the same sequence on every platform, and each pod has its
/// own sequence.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  ///< [0, 1)
  double between(double least, double most) { return least + (most - least) * uniform(); }
  double normal();  ///< approximately normal: the sum of four uniform values

 private:
  std::uint64_t state_;
};

/// Pods and their usage, in steps of kStep from Monday 00:00 on. The usage of a pod does not depend on its node, so
/// placement rules are compared under the same load.
class Model {
 public:
  static constexpr base::Duration kStep = base::seconds(30);

  struct Pod {
    int workload = 0;
    int request = 0;  ///< millicores
    int memory = 0;   ///< Mi
    base::Duration startup{};
  };

  Model(const Parameters& parameters, std::uint64_t seed);

  const Parameters& parameters() const { return parameters_; }
  const std::vector<Pod>& pods() const { return pods_; }
  int workloads() const { return static_cast<int>(shapes_.size()); }
  /// Returns the time since the beginning.
  base::Duration time() const { return kStep * steps_; }
  void step();
  /// Returns the usage in cores by pod, without contention.
  const std::vector<double>& use() const { return use_; }
  /// Returns a measurement with noise from `chance`. Measuring does not change the model's own random sequences.
  double measured(double use, Chance& chance) const { return use * (1 + parameters_.sample_noise * chance.normal()); }

 private:
  struct Burst {
    int steps_left = 0;
  };
  struct Shape {
    double peak_hour, wave, noise = 0;
    Burst burst;
    Chance chance;
    double factor = 1;  ///< current factor of all of its pods
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

/// Returns the initial node of each pod, as placed by a scheduler that uses requests, with the pods in random order.
std::vector<int> place_by_requests(const Model& model, std::uint64_t seed);

}  // namespace load
