/// What must hold for every strategy on random clusters: protections and limits are kept, the order of the input
/// changes nothing, and applying plan after plan ends, with the strategy's violations never becoming more. The test's
/// parameters are the strategy and the seed: they reproduce a failure.

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "planning/planner.hpp"
#include "scheduling/evictability.hpp"
#include "scheduling/predicates.hpp"
#include "test/builders/cluster.hpp"

namespace planning {
namespace strategy_property_test {

using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using scheduling::ClusterSnapshot;
using scheduling::NodeIndex;
using scheduling::PodIndex;

template <typename T>
std::shared_ptr<const T> shared(T object) {
  return std::make_shared<const T>(std::move(object));
}

/// A small cluster with a bit of everything that some strategy looks at.
class RandomWorld {
 public:
  explicit RandomWorld(unsigned seed) : random_(seed) {
    const int nodes = pick(2, 6);
    for (int i = 0; i < nodes; ++i) objects_.nodes.push_back(shared(node(i)));
    const int pods = pick(4, 45);
    for (int i = 0; i < pods; ++i) objects_.pods.push_back(shared(pod(i, nodes)));
    objects_.pdbs.push_back(shared(builders::pdb("b", "a", pick(0, 3))));
  }

  const scheduling::SnapshotInput& objects() const { return objects_; }
  scheduling::SnapshotInput shuffled() {
    scheduling::SnapshotInput other = objects_;
    std::ranges::shuffle(other.pods, random_);
    std::ranges::shuffle(other.nodes, random_);
    return other;
  }
  api::PerCycleLimits limits() {
    api::PerCycleLimits limits;
    if (flip()) limits.total = pick(1, 8);
    if (flip()) limits.per_node = pick(1, 3);
    if (flip()) limits.per_namespace = pick(1, 6);
    return limits;
  }

 private:
  int pick(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }
  bool flip() { return pick(0, 1) == 1; }
  bool rarely() { return pick(0, 7) == 0; }
  std::string app() { return std::string(1, static_cast<char>('a' + pick(0, 2))); }

  api::Node node(int number) {
    NodeBuilder node("n" + std::to_string(number));
    node.sized(pick(1, 4) * 1000, 4000, pick(6, 20)).label("zone", "z" + std::to_string(number % 3));
    if (flip()) node.label("disk", "ssd");
    if (rarely()) node.cordoned();
    if (rarely()) node.taint("t", static_cast<api::TaintEffect>(pick(0, 2)));
    return node.build();
  }

  api::Pod pod(int number, int nodes) {
    PodBuilder pod("p" + std::to_string(100 + number));
    pod.ns(rarely() ? "other" : "default").label("app", app()).cpu(pick(0, 6) * 100).memory(pick(0, 400));
    pod.on("n" + std::to_string(pick(0, flip() ? nodes - 1 : 0)));
    pod.owned_by(rarely() ? "DaemonSet" : "ReplicaSet", "rs" + std::to_string(pick(0, 3)));
    pod.older_by(base::minutes(pick(0, 120)));
    if (rarely()) pod.bare();
    if (rarely()) pod.terminating();
    if (rarely()) pod.phase(static_cast<api::PodPhase>(pick(0, 4)));
    if (rarely()) pod.tolerate("t");
    if (flip()) pod.priority(pick(0, 3));
    return decorated(pod).build();
  }

  PodBuilder& decorated(PodBuilder& pod) {
    if (rarely()) pod.anti_affinity("app", app(), flip() ? "zone" : "kubernetes.io/hostname");
    if (rarely()) pod.with([](api::Pod& each) { each.node_selector = {{"disk", "ssd"}}; });
    if (rarely()) {
      pod.affinity([](api::Affinity& affinity) {
        affinity.preferred_node_terms.push_back({5, {{{"disk", api::SelectorOperator::kIn, {"ssd"}}}, {}}});
      });
    }
    if (flip()) pod.with([&](api::Pod& each) { each.topology_spread.push_back(constraint(each)); });
    if (rarely()) {
      pod.with([&](api::Pod& each) {
        api::ContainerStatus status;
        status.name = "main";
        status.restart_count = pick(1, 9);
        each.container_statuses.push_back(status);
      });
    }
    return pod;
  }

  api::TopologySpreadConstraint constraint(const api::Pod& pod) {
    api::TopologySpreadConstraint constraint;
    constraint.topology_key = flip() ? "zone" : "kubernetes.io/hostname";
    constraint.max_skew = pick(1, 2);
    constraint.label_selector = builders::labels_in("app", {pod.meta.labels.value("app")});
    if (rarely()) constraint.min_domains = 3;
    return constraint;
  }

  std::mt19937 random_;
  scheduling::SnapshotInput objects_;
};

// --- violations, counted in the plainest way

using Count = std::function<std::int64_t(const ClusterSnapshot&)>;

bool runs(const ClusterSnapshot& cluster, PodIndex pod) {
  return cluster.is_active(pod) && cluster.node_of(pod) != scheduling::kNoNode &&
         !cluster.pod(pod).meta.is_terminating();
}

Count pods_with(std::function<bool(const ClusterSnapshot&, PodIndex)> violates) {
  return [=](const ClusterSnapshot& cluster) {
    return std::ranges::count_if(cluster.pods(), [&](PodIndex pod) { return violates(cluster, pod); });
  };
}

const api::Node& node_under(const ClusterSnapshot& cluster, PodIndex pod) { return cluster.node(cluster.node_of(pod)); }

bool suffers_taint(const ClusterSnapshot& cluster, PodIndex pod) {
  using enum api::TaintEffect;
  return runs(cluster, pod) &&
         scheduling::first_untolerated(cluster.pod(pod).tolerations, node_under(cluster, pod).taints,
                                       {kNoSchedule, kNoExecute}) != nullptr;
}

bool misses_selector(const ClusterSnapshot& cluster, PodIndex pod) {
  return runs(cluster, pod) && !scheduling::matches_node_terms(cluster.pod(pod), node_under(cluster, pod));
}

bool misses_preference(const ClusterSnapshot& cluster, PodIndex pod) {
  const api::Pod& object = cluster.pod(pod);
  return runs(cluster, pod) && object.affinity && !object.affinity->preferred_node_terms.empty() &&
         !scheduling::matches(object.affinity->preferred_node_terms[0].term, node_under(cluster, pod));
}

bool share_domain(const ClusterSnapshot& cluster, PodIndex a, PodIndex b, const std::string& key) {
  const std::string* first = node_under(cluster, a).meta.labels.find(key);
  const std::string* second = node_under(cluster, b).meta.labels.find(key);
  return first != nullptr && second != nullptr && *first == *second;
}

std::int64_t conflicts(const ClusterSnapshot& cluster) {
  std::int64_t count = 0;
  for (const PodIndex a : cluster.pods()) {
    if (!cluster.pod(a).affinity || !cluster.is_active(a) || cluster.node_of(a) == scheduling::kNoNode) continue;
    for (const api::PodAffinityTerm& term : cluster.pod(a).affinity->required_pod_anti_affinity) {
      for (const PodIndex b : cluster.pods()) {
        if (a == b || !cluster.is_active(b) || cluster.node_of(b) == scheduling::kNoNode) continue;
        if (scheduling::covers(term, a, b, cluster) && share_domain(cluster, a, b, term.topology_key)) ++count;
      }
    }
  }
  return count;
}

/// Squares of the pods of one owner on each node: a move to a node with less lowers the sum.
std::int64_t crowding(const ClusterSnapshot& cluster) {
  std::map<std::string, std::int64_t> held;
  for (const PodIndex pod : cluster.pods()) {
    const api::Pod& object = cluster.pod(pod);
    if (!runs(cluster, pod) || object.meta.owner_references.empty()) continue;
    ++held[object.meta.ns + "/" + object.meta.owner_references[0].uid + object.meta.owner_references[0].kind + "@" +
           object.node_name.value];
  }
  std::int64_t sum = 0;
  for (const auto& [key, count] : held) sum += count * count;
  return sum;
}

double cpu_percent(const ClusterSnapshot& cluster, NodeIndex node) {
  return 100.0 * static_cast<double>(cluster.used().get(node, scheduling::kCpuIndex)) /
         static_cast<double>(cluster.allocatable().get(node, scheduling::kCpuIndex));
}

std::int64_t overused(const ClusterSnapshot& cluster) {
  return std::ranges::count_if(cluster.nodes(), [&](NodeIndex node) { return cpu_percent(cluster, node) > 50; });
}

/// Underused nodes with pods that could leave.
std::int64_t wasted(const ClusterSnapshot& cluster) {
  return std::ranges::count_if(cluster.nodes(), [&](NodeIndex node) {
    return cpu_percent(cluster, node) <= 40 &&
           std::ranges::any_of(cluster.pods_on(node), [&](PodIndex pod) { return runs(cluster, pod); });
  });
}

/// Pods too many of one constraint, as seen by the pod that carries it.
std::int64_t excess_of(const ClusterSnapshot& cluster, PodIndex owner,
                       const api::TopologySpreadConstraint& constraint) {
  std::map<std::string, std::int64_t> domains;
  const auto domain_at = [&](NodeIndex node) -> const std::string* {
    if (!scheduling::matches_node_terms(cluster.pod(owner), cluster.node(node))) return nullptr;
    return cluster.node(node).meta.labels.find(constraint.topology_key);
  };
  for (const NodeIndex node : cluster.nodes()) {
    if (const std::string* domain = domain_at(node)) domains[*domain] += 0;
  }
  for (const PodIndex pod : cluster.pods_in(cluster.namespace_of(owner))) {
    if (!runs(cluster, pod) || !constraint.label_selector->matches(cluster.pod(pod).meta.labels)) continue;
    if (const std::string* domain = domain_at(cluster.node_of(pod))) ++domains[*domain];
  }
  std::int64_t fewest = domains.empty() ? 0 : domains.begin()->second;
  for (const auto& [name, count] : domains) fewest = std::min(fewest, count);
  if (constraint.min_domains && static_cast<std::int64_t>(domains.size()) < *constraint.min_domains) fewest = 0;
  std::int64_t excess = 0;
  for (const auto& [name, count] : domains) excess += std::max<std::int64_t>(0, count - fewest - constraint.max_skew);
  return excess;
}

/// Every distinct constraint once.
std::int64_t spread_excess(const ClusterSnapshot& cluster) {
  std::map<std::string, std::int64_t> by_rule;
  for (const PodIndex pod : cluster.pods()) {
    const api::Pod& object = cluster.pod(pod);
    if (!runs(cluster, pod)) continue;
    for (const api::TopologySpreadConstraint& each : object.topology_spread) {
      const std::string key = object.meta.ns + "/" + each.topology_key + std::to_string(each.max_skew) +
                              each.label_selector->requirements[0].values[0] +
                              std::to_string(each.min_domains.value_or(0)) +
                              (object.node_selector.empty() ? "" : "ssd");
      if (!by_rule.contains(key)) by_rule[key] = excess_of(cluster, pod, each);
    }
  }
  std::int64_t sum = 0;
  for (const auto& [key, excess] : by_rule) sum += excess;
  return sum;
}

struct Tried {
  std::string strategy;
  std::string args;
  Count violations;
};

const std::vector<Tried>& all_tried() {
  static const std::vector<Tried> kAll = {
      {"PodLifeTime", R"({"maxPodLifeTimeSeconds":1800})", pods_with([](const auto& cluster, PodIndex pod) {
         return cluster.pod(pod).meta.creation_timestamp < kNoon - base::minutes(30);
       })},
      {"RemoveFailedPods", "{}",
       pods_with([](const auto& cluster, PodIndex pod) { return cluster.pod(pod).phase == api::PodPhase::kFailed; })},
      {"RemovePodsHavingTooManyRestarts", R"({"podRestartThreshold":3})",
       pods_with([](const auto& cluster, PodIndex pod) { return !cluster.pod(pod).container_statuses.empty(); })},
      {"PodCriteria", R"({"minAgeSeconds":60,"phases":["Running","Failed"],"terminalPods":{"evict":true}})",
       pods_with([](const auto& cluster, PodIndex pod) {
         return cluster.pod(pod).meta.creation_timestamp <= kNoon - base::minutes(1);
       })},
      {"RemovePodsViolatingNodeTaints", R"({"includePreferNoSchedule":true})", pods_with(suffers_taint)},
      {"RemovePodsViolatingNodeAffinity", R"({"nodeAffinityType":["requiredDuringSchedulingIgnoredDuringExecution"]})",
       pods_with(misses_selector)},
      {"RemovePodsViolatingNodeAffinity", R"({"nodeAffinityType":["preferredDuringSchedulingIgnoredDuringExecution"]})",
       pods_with(misses_preference)},
      {"RemovePodsViolatingInterPodAntiAffinity", "{}", conflicts},
      {"RemoveDuplicates", "{}", crowding},
      {"LowNodeUtilization", R"({"thresholds":{"cpu":40},"targetThresholds":{"cpu":50}})", overused},
      {"HighNodeUtilization", R"({"thresholds":{"cpu":40}})", wasted},
      {"RemovePodsViolatingTopologySpreadConstraint", "{}", spread_excess},
  };
  return kAll;
}

/// What the cluster is like after the plan: moved pods are made anew where they were predicted, the others are gone.
scheduling::SnapshotInput applied(scheduling::SnapshotInput objects, const Plan& plan) {
  std::map<std::string, const api::PlannedMove*> moves;
  for (const api::PlannedMove& move : plan.moves) moves.emplace(move.uid, &move);
  for (auto& pod : objects.pods) {
    const auto at = moves.find(pod->meta.uid);
    if (at == moves.end()) continue;
    if (at->second->to.empty()) {
      pod = nullptr;
      continue;
    }
    api::Pod fresh = *pod;
    fresh.meta.uid += "'";
    fresh.node_name = {at->second->to};
    fresh.meta.creation_timestamp = kNoon;
    fresh.container_statuses.clear();
    pod = shared(std::move(fresh));
  }
  std::erase(objects.pods, nullptr);
  return objects;
}

class StrategyProperties : public testing::TestWithParam<std::tuple<std::size_t, unsigned>> {
 protected:
  StrategyProperties() : world_(std::get<1>(GetParam())) {
    spec_.strategies = {{tried().strategy, tried().args}};
    spec_.limits.per_cycle = world_.limits();
    spec_.evictability.node_fit = std::get<1>(GetParam()) % 2 == 0;
  }
  const Tried& tried() const { return all_tried()[std::get<0>(GetParam())]; }
  Plan plan_of(const ClusterSnapshot& cluster) const {
    return plan_cycle({.spec = spec_, .cluster = cluster, .leaving = {}, .now = kNoon});
  }

  RandomWorld world_;
  api::DeschedulerPolicySpec spec_;
};

TEST_P(StrategyProperties, KeepsProtectionsAndLimits) {
  for (const auto compatibility : {api::Compatibility::kNone, api::Compatibility::kUpstream}) {
    spec_.compatibility = compatibility;
    const ClusterSnapshot cluster(world_.objects());
    api::FieldErrors errors;
    const scheduling::Evictability rules(spec_.evictability, cluster, kNoon, errors, compatibility);
    const Plan plan = plan_of(cluster);
    EXPECT_THAT(plan.errors, testing::IsEmpty());
    std::set<std::string> seen;
    std::map<std::string, int> per_node;
    std::map<std::string, int> per_namespace;
    constexpr int kUnlimited = 1'000'000;
    const api::PerCycleLimits& limits = spec_.limits.per_cycle;
    for (const api::PlannedMove& move : plan.moves) {
      EXPECT_FALSE(rules.refusal(cluster.find_pod(move.ns, move.pod).value())) << move.pod;
      EXPECT_TRUE(seen.insert(move.uid).second) << move.pod;
      EXPECT_LE(++per_node[move.from], limits.per_node.value_or(kUnlimited));
      EXPECT_LE(++per_namespace[move.ns], limits.per_namespace.value_or(kUnlimited));
    }
    EXPECT_LE(static_cast<int>(plan.moves.size()), limits.total.value_or(kUnlimited));
  }
}

TEST_P(StrategyProperties, DoesNotDependOnTheOrderOfTheInput) {
  for (const auto compatibility : {api::Compatibility::kNone, api::Compatibility::kUpstream}) {
    spec_.compatibility = compatibility;
    const Plan plan = plan_of(ClusterSnapshot(world_.objects()));
    EXPECT_EQ(plan, plan_of(ClusterSnapshot(world_.objects()))) << "again";
    EXPECT_EQ(plan, plan_of(ClusterSnapshot(world_.shuffled()))) << "shuffled";
  }
}

TEST_P(StrategyProperties, BecomesQuietAndNeverMakesItWorse) {
  constexpr int kMostCycles = 200;
  scheduling::SnapshotInput objects = world_.objects();
  std::int64_t before = tried().violations(ClusterSnapshot(objects));
  for (int cycle = 0; cycle < kMostCycles; ++cycle) {
    const Plan plan = plan_of(ClusterSnapshot(objects));
    if (plan.moves.empty()) return;
    objects = applied(std::move(objects), plan);
    const std::int64_t after = tried().violations(ClusterSnapshot(objects));
    ASSERT_LE(after, before) << "in cycle " << cycle;
    before = after;
  }
  FAIL() << "moves in each of " << kMostCycles << " cycles";
}

/// The properties above say little about a strategy that never does anything on these clusters.
TEST(StrategyCoverage, EveryStrategyMovesSomethingSomewhere) {
  for (const Tried& tried : all_tried()) {
    std::size_t moves = 0;
    for (unsigned seed = 1; seed <= 30; ++seed) {
      const RandomWorld world(seed);
      const ClusterSnapshot cluster(world.objects());
      api::DeschedulerPolicySpec spec;
      spec.strategies = {{tried.strategy, tried.args}};
      moves += plan_cycle({.spec = spec, .cluster = cluster, .leaving = {}, .now = kNoon}).moves.size();
    }
    EXPECT_GE(moves, 5U) << tried.strategy << " " << tried.args;
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, StrategyProperties,
                         testing::Combine(testing::Range<std::size_t>(0, 12), testing::Range(1U, 31U)));

}  // namespace strategy_property_test
}  // namespace planning
