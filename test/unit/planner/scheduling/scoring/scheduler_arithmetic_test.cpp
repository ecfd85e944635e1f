/// Compares ResourceScores with a second implementation of kube-scheduler's arithmetic, transcribed from its sources.
/// For each node and pod, the scores of every version's formula must be equal.

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "planner/scheduling/scoring/resource_scores.hpp"
#include "test/builders/cluster.hpp"

namespace scheduling {
namespace scheduler_arithmetic_test {

constexpr int kNodesOfAWorld = 20;
constexpr int kResidents = 60;
constexpr int kPodsOfAWorld = 25;
constexpr int kWorlds = 20;  // 10,000 pairs of node and pod
constexpr std::int64_t kMi = std::int64_t{1} << 20;

/// framework.Resource of a node or of one pod, in millicores and bytes.
struct Sums {
  std::int64_t cpu = 0, memory = 0;                    ///< Requested
  std::int64_t non_zero_cpu = 0, non_zero_memory = 0;  ///< NonZeroRequested: 100m and 200Mi for what a container omits
  void add(const Sums& other) {
    cpu += other.cpu;
    memory += other.memory;
    non_zero_cpu += other.non_zero_cpu;
    non_zero_memory += other.non_zero_memory;
  }
};

// --- the formulas, in the order of operations of the Go code

double fraction(std::int64_t requested, std::int64_t allocatable) {
  const double quotient = static_cast<double>(requested) / static_cast<double>(allocatable);
  return quotient > 1 ? 1 : quotient;
}

std::int64_t deviation_score(std::int64_t cpu, std::int64_t memory, const Sums& node) {
  const double std = std::abs((fraction(cpu, node.cpu) - fraction(memory, node.memory)) / 2);
  return static_cast<std::int64_t>((1 - std) * 100.0);
}

std::int64_t balance(int minor, const Sums& node, const Sums& before, const Sums& pod) {
  if (minor >= 33 && pod.cpu == 0 && pod.memory == 0) return 0;
  if (minor <= 21) {
    const double cpu = static_cast<double>(before.non_zero_cpu + pod.non_zero_cpu) / static_cast<double>(node.cpu);
    const double memory =
        static_cast<double>(before.non_zero_memory + pod.non_zero_memory) / static_cast<double>(node.memory);
    if (cpu >= 1 || memory >= 1) return 0;
    return static_cast<std::int64_t>((1 - std::abs(cpu - memory)) * 100.0);
  }
  const std::int64_t with = deviation_score(before.cpu + pod.cpu, before.memory + pod.memory, node);
  if (minor <= 35) return with;
  return 50 + (50 + with - deviation_score(before.cpu, before.memory, node)) / 2;
}

std::int64_t least_requested(std::int64_t requested, std::int64_t capacity) {
  return requested > capacity ? 0 : (capacity - requested) * 100 / capacity;
}

std::int64_t most_requested(std::int64_t requested, std::int64_t capacity) {
  return std::min(requested, capacity) * 100 / capacity;
}

std::int64_t fit(NodeScoring scoring, const Sums& node, const Sums& before, const Sums& pod) {
  const auto score = scoring == NodeScoring::kLeastAllocated ? least_requested : most_requested;
  return (score(before.non_zero_cpu + pod.non_zero_cpu, node.cpu) +
          score(before.non_zero_memory + pod.non_zero_memory, node.memory)) /
         2;
}

// --- random nodes and pods

class World {
 public:
  explicit World(std::uint32_t seed) : random_(seed) {
    for (int i = 0; i < kNodesOfAWorld; ++i) add_node(i);
    for (int i = 0; i < kResidents; ++i) {
      const int node = below(kNodesOfAWorld);
      builders::PodBuilder pod("resident-" + std::to_string(i));
      before[static_cast<std::size_t>(node)].add(requests(pod));
      builder_.add(pod.on(node_name(node)));
    }
    for (int i = 0; i < kPodsOfAWorld; ++i) {
      builders::PodBuilder pod(pod_name(i));
      pods.push_back(requests(pod));
      builder_.add(pod);
    }
  }

  static std::string node_name(int i) { return "n" + std::to_string(100 + i); }
  static std::string pod_name(int i) { return "pod-" + std::to_string(i); }
  std::unique_ptr<const ClusterSnapshot> cluster() const { return builder_.build(); }

  std::vector<Sums> nodes;   ///< Allocatable resources
  std::vector<Sums> before;  ///< Sums of the residents' requests, by node
  std::vector<Sums> pods;

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint32_t>(limit)); }

  void add_node(int i) {
    constexpr int kCores[] = {2, 3, 7, 16, 96};
    constexpr int kMemory[] = {3000, 7777, 13 * 1024, 61 * 1024, 768 * 1024};  // Mi
    Sums& node = nodes.emplace_back();
    node.cpu = kCores[below(5)] * 1000 - below(2) * below(100);
    node.memory = kMemory[below(5)] * kMi - below(2) * below(100'000);
    before.emplace_back();
    builder_.add(builders::NodeBuilder(node_name(i)).sized(node.cpu, node.memory, 110));
  }

  /// Gives the pod random containers. Some have no requests, some request only one resource.
  Sums requests(builders::PodBuilder& pod) {
    Sums sums;
    pod.with([&](api::Pod& object) {
      for (int more = below(3); more > 0; --more) object.containers.push_back({"side", "img", {}, {}, {}, false});
      for (std::size_t i = 0; i < object.containers.size(); ++i) request(object.containers[i], sums);
      if (below(8) == 0) add_overhead(object, sums);
    });
    return sums;
  }
  void request(api::Container& container, Sums& sums) {
    const int dice = below(10);
    const bool says_cpu = dice > 1;
    const bool says_memory = dice > 0 && dice != 2;
    const std::int64_t cpu = says_cpu ? below(900) : 0;
    const std::int64_t memory = says_memory ? below(1800) * kMi + below(2) * below(1000) : 0;
    if (says_cpu) api::add_amount(container.requests, "cpu", api::Quantity::from_milli(cpu));
    if (says_memory) api::add_amount(container.requests, "memory", api::Quantity::from_units(memory));
    sums.add({cpu, memory, says_cpu ? cpu : 100, says_memory ? memory : 200 * kMi});
  }
  static void add_overhead(api::Pod& pod, Sums& sums) {
    pod.overhead = {{"cpu", api::Quantity::from_milli(250)}, {"memory", api::Quantity::from_units(120 * kMi)}};
    sums.add({250, 120 * kMi, 250, 120 * kMi});
  }

  std::mt19937 random_;
  builders::ClusterBuilder builder_;
};

struct ScoreOf {
  const char* name;
  NodeScoring scoring;
  int minor;
  bool of_balance;  ///< True for NodeResourcesBalancedAllocation, false for NodeResourcesFit
};

class SchedulerArithmetic : public testing::TestWithParam<ScoreOf> {
 protected:
  /// Returns the number of compared pairs.
  static int compare(const World& world) {
    const ScoreOf& what = GetParam();
    SchedulerRules rules = scheduler_rules(what.minor);
    rules.weights.fit = what.of_balance ? 0 : 1;
    rules.weights.balance = what.of_balance ? 1 : 0;
    const ResourceScores scores(what.scoring, rules);
    const auto cluster = world.cluster();
    const WhatIf what_if(*cluster);
    int compared = 0;
    for (int p = 0; p < kPodsOfAWorld; ++p) {
      const PodIndex pod = cluster->find_pod("default", World::pod_name(p)).value();
      for (int n = 0; n < kNodesOfAWorld; ++n) {
        const NodeIndex node = cluster->find_node(World::node_name(n)).value();
        const std::uint8_t score = scores.score(what_if, pod, node);
        ++compared;
        if (score == ResourceScores::kNoCapacity) continue;
        EXPECT_EQ(score, want(world, p, n)) << World::pod_name(p) << " on " << World::node_name(n);
      }
    }
    return compared;
  }

 private:
  static std::int64_t want(const World& world, int pod, int node) {
    const ScoreOf& what = GetParam();
    const Sums& all = world.nodes[static_cast<std::size_t>(node)];
    const Sums& before = world.before[static_cast<std::size_t>(node)];
    const Sums& wanted = world.pods[static_cast<std::size_t>(pod)];
    return what.of_balance ? balance(what.minor, all, before, wanted) : fit(what.scoring, all, before, wanted);
  }
};

TEST_P(SchedulerArithmetic, MatchesKubeSchedulerOverTenThousandPairs) {
  int compared = 0;
  for (std::uint32_t seed = 1; seed <= kWorlds; ++seed) compared += compare(World(seed));
  EXPECT_EQ(compared, 10'000);
}

constexpr auto kMin = NodeScoring::kLeastAllocated;
constexpr auto kMax = NodeScoring::kMostAllocated;

INSTANTIATE_TEST_SUITE_P(Scores, SchedulerArithmetic,
                         testing::Values(ScoreOf{"LeastAllocated", kMin, 36, false},
                                         ScoreOf{"MostAllocated", kMax, 36, false},
                                         ScoreOf{"BalanceAt21", kMin, 21, true}, ScoreOf{"BalanceAt22", kMin, 22, true},
                                         ScoreOf{"BalanceAt35", kMin, 35, true},
                                         ScoreOf{"BalanceAt36", kMin, 36, true}),
                         [](const auto& test) { return test.param.name; });

}  // namespace scheduler_arithmetic_test
}  // namespace scheduling
