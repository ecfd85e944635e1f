#include "test/scenarios/load/load_model.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <tuple>

namespace load {
namespace {

constexpr double kStepHours = 30.0 / 3600;

double hours(base::Duration time) { return std::chrono::duration<double, std::ratio<3600>>(time).count(); }

/// Mean-reverting noise with this sigma and a decay time of `memory` hours.
struct Wander {
  Wander(double sigma, double memory)
      : keep(std::exp(-kStepHours / memory)), spread(sigma * std::sqrt(1 - keep * keep)) {}
  double next(double noise, Chance& chance) const { return noise * keep + spread * chance.normal(); }
  double keep;
  double spread;
};

}  // namespace

std::uint64_t Chance::next() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

double Chance::normal() {
  const std::uint64_t bits = next();
  double sum = 0;
  for (int part = 0; part < 4; ++part) sum += static_cast<double>((bits >> (16 * part)) & 0xffff) / 65535;
  return (sum - 2) * std::numbers::sqrt3;
}

Model::Model(const Parameters& parameters, std::uint64_t seed) : parameters_(parameters), chance_(seed) {
  const auto wanted = static_cast<std::size_t>(parameters.nodes) * static_cast<std::size_t>(parameters.pods_per_node);
  while (pods_.size() < wanted) add_workload(chance_);
  pods_.resize(wanted);
  states_.erase(states_.begin() + static_cast<std::ptrdiff_t>(wanted), states_.end());
  scale();
  use_.resize(wanted);
  step();
}

void Model::add_workload(Chance& chance) {
  const Parameters& p = parameters_;
  const bool is_whale = workloads() % p.whale_every == 10;
  const double hour = chance.uniform();
  const int crowd = hour < p.peak_shares[0] ? 0 : hour < p.peak_shares[0] + p.peak_shares[1] ? 1 : 2;
  const double peak = p.peak_hours[crowd] + chance.between(-p.peak_jitter, p.peak_jitter);
  shapes_.push_back({peak, chance.between(p.least_wave, p.most_wave), 0, {}, Chance(chance.next())});
  const int fewest = is_whale ? 2 : p.fewest_replicas;
  const int most = is_whale ? 4 : p.most_replicas;
  const int replicas = fewest + static_cast<int>(chance.uniform() * (most - fewest + 1));
  const double middle =
      is_whale ? chance.between(p.least_whale, p.most_whale) : std::exp(p.workload_spread * chance.normal() - 2);
  Pod pod;
  pod.workload = workloads() - 1;
  pod.request = p.requests[chance.next() % p.requests.size()];
  pod.memory = p.memory[chance.next() % p.memory.size()];
  pod.startup = base::milliseconds(static_cast<std::int64_t>(1000 * chance.between(p.least_startup, p.most_startup)));
  for (int i = 0; i < replicas; ++i) {
    const double cores = middle * (is_whale ? 1 : std::exp(p.replica_spread * chance.normal()));
    pods_.push_back(pod);
    states_.push_back(
        {is_whale ? cores : std::clamp(cores, p.least_cores, p.most_cores), 0, {}, Chance(chance.next())});
  }
}

/// Whales keep their size. The others are scaled to the rest of the mean load.
void Model::scale() {
  const Parameters& p = parameters_;
  double whales = 0;
  double others = 0;
  for (const State& state : states_) (state.cores >= p.least_whale ? whales : others) += state.cores;
  const double factor = (p.mean_load * p.node_cores * p.nodes - whales) / others;
  for (State& state : states_) {
    if (state.cores < p.least_whale) state.cores *= factor;
  }
}

double Model::wave_of(const Shape& shape) const {
  const double angle = 2 * std::numbers::pi * (hours(time()) - shape.peak_hour) / 24;
  const bool is_weekend = static_cast<std::int64_t>(hours(time()) / 24) % 7 >= 5;
  const double day = 1 + shape.wave * (std::cos(angle) + 0.3 * std::cos(2 * angle));
  return std::max(day, 0.05) * (is_weekend ? parameters_.weekend : 1);
}

void Model::step() {
  const Parameters& p = parameters_;
  const auto burst = [](Burst& state, Chance& chance, double every, double least, double most) {
    if (state.steps_left > 0) return --state.steps_left > 0;
    if (chance.uniform() < kStepHours / every) {
      state.steps_left = static_cast<int>(chance.between(least, most) / kStepHours);
    }
    return state.steps_left > 0;
  };
  const Wander workload_noise(p.workload_noise, p.workload_memory);
  const Wander pod_noise(p.pod_noise, p.pod_memory);
  for (Shape& shape : shapes_) {
    shape.noise = workload_noise.next(shape.noise, shape.chance);
    const bool bursts =
        burst(shape.burst, shape.chance, p.workload_burst_every, p.workload_burst_least, p.workload_burst_most);
    shape.factor = wave_of(shape) * std::max(1 + shape.noise, 0.0) * (bursts ? p.workload_burst_factor : 1);
  }
  for (std::size_t i = 0; i < pods_.size(); ++i) {
    State& state = states_[i];
    state.noise = pod_noise.next(state.noise, state.chance);
    const bool bursts = burst(state.burst, state.chance, p.pod_burst_every, p.pod_burst_least, p.pod_burst_most);
    use_[i] = state.cores * shapes_[static_cast<std::size_t>(pods_[i].workload)].factor *
              std::max(1 + state.noise, 0.0) * (bursts ? p.pod_burst_factor : 1);
  }
  ++steps_;
}

std::vector<int> place_by_requests(const Model& model, std::uint64_t seed) {
  const auto& pods = model.pods();
  std::vector<std::size_t> order(pods.size());
  std::iota(order.begin(), order.end(), 0);
  Chance chance(seed ^ 0x706c616365);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[chance.next() % i]);
  const int nodes = model.parameters().nodes;
  std::vector<std::tuple<int, int, int>> free;  // requested cores, pods, node: a min-heap
  for (int node = 0; node < nodes; ++node) free.emplace_back(0, 0, node);
  const auto later = std::greater<>();
  std::ranges::make_heap(free, later);
  std::vector<int> placed(pods.size());
  for (const std::size_t pod : order) {
    std::ranges::pop_heap(free, later);
    auto& [requested, count, node] = free.back();
    requested += pods[pod].request;
    ++count;
    placed[pod] = node;
    std::ranges::push_heap(free, later);
  }
  return placed;
}

}  // namespace load
