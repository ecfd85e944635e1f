#include "planner/strategies/defragmentation/bound/node_pools.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/defragmentation/bound/mixes.hpp"

namespace strategies {
namespace {

constexpr std::size_t kMaxPools = 32;
// Maximum number of footprints computed; pods with further ones count as unrestricted.
constexpr std::size_t kMaxFootprints = 1000;
constexpr std::size_t kMaxResources = 8;  // the first ones, which include cpu, memory and pods
constexpr std::size_t kWholeCluster = 0;  // index in footprints_
using Nodes = std::vector<bool>;          // indexed by node

/// Free capacity of each node after all pods that may have to move have left it.
class EmptiedNodes {
 public:
  explicit EmptiedNodes(const DefragmentationProblem& problem)
      : resources_(std::min(problem.base().resources().size(), kMaxResources)) {
    for (ResourceIndex r = 0; r < resources_; ++r) by_resource_.push_back(column(problem, r));
  }
  std::size_t resources() const { return resources_; }
  std::int64_t get(NodeIndex node, ResourceIndex resource) const { return by_resource_[resource][node]; }
  bool hold(NodeIndex node, const RequestSet& requests) const {
    return std::ranges::all_of(requests, [&](const auto& request) {
      return request.first >= resources_ || request.second <= 0 || request.second <= get(node, request.first);
    });
  }

 private:
  static std::vector<std::int64_t> column(const DefragmentationProblem& problem, ResourceIndex resource) {
    std::vector<std::int64_t> column(problem.base().node_count(), 0);
    for (const NodeIndex node : problem.nodes()) {
      std::int64_t& amount = column[node] = std::max<std::int64_t>(problem.cluster().free(node, resource), 0);
      for (const PodIndex pod : problem.pods_on(node))
        amount = saturating_add(amount, taken_of(problem.base().requests(pod), resource));
    }
    return column;
  }

  std::size_t resources_;
  std::vector<std::vector<std::int64_t>> by_resource_;
};

/// A set of nodes, and the pods that may run only on them, by requests.
struct Pool {
  Nodes is_in;
  std::vector<NodeIndex> nodes{};
  std::map<std::uint32_t, std::size_t> pods{};  ///< by request set, including the pods of inner pools
  std::vector<std::size_t> inside{};            ///< all inner pools, each after its own inner pools
  std::size_t apart = 0;                        ///< number of pods that cannot share a node
  std::size_t needed = 0;
};

/// Sets of nodes that are pairwise disjoint or nested. Inner sets come before outer ones; the set of all nodes is last.
class Pools {
 public:
  Pools(const DefragmentationProblem& problem, const std::vector<EvenPods>& even, const std::vector<PodsApart>& apart,
        const EmptiedNodes& emptied)
      : problem_(problem), emptied_(emptied), is_even_(problem.base().pod_table_size(), false) {
    Nodes all(problem.base().node_count(), false);
    for (const NodeIndex node : problem.nodes()) all[node] = true;
    footprint(all);
    one_of_.resize(problem.base().request_set_count(), kNoPod);
    for (const EvenPods& each : even) add(each);
    for (const NodeIndex node : problem.nodes()) {
      for (const PodIndex pod : problem.pods_on(node)) {
        if (!is_even_[pod]) add(pod, node);
      }
    }
    build();
    for (const PodsApart& each : apart) count_apart(each);
  }

  std::vector<Pool>& all() { return pools_; }
  const std::vector<Pool>& all() const { return pools_; }
  PodIndex one_of(std::uint32_t request_set) const { return one_of_[request_set]; }

 private:
  std::size_t footprint(const Nodes& nodes) {
    const auto [at, is_new] = numbers_.try_emplace(nodes, footprints_.size());
    if (is_new) footprints_.push_back({nodes});
    return at->second;
  }

  void add(PodIndex pod, NodeIndex node) {
    const std::uint32_t requests = problem_.base().request_set_of(pod);
    one_of_[requests] = pod;
    ++footprints_[footprint_from(pod, node)].pods[requests];
  }

  /// Returns the pod's footprint, or the whole cluster if its node is outside, because it may stay there.
  std::size_t footprint_from(PodIndex pod, NodeIndex node) {
    const std::size_t found = footprint_of(pod);
    return footprints_[found].is_in[node] ? found : kWholeCluster;
  }

  void count_apart(const PodsApart& apart) {
    std::map<std::size_t, std::vector<PodIndex>> by_footprint;
    for (const PodIndex pod : apart.pods)
      by_footprint[footprint_from(pod, problem_.cluster().node_of(pod))].push_back(pod);
    for (Pool& pool : pools_) {
      std::vector<PodIndex> bound_to_it;
      for (const auto& [footprint, pods] : by_footprint) {
        if (is_inside(footprints_[footprint].is_in, pool.is_in))
          bound_to_it.insert(bound_to_it.end(), pods.begin(), pods.end());
      }
      pool.apart = std::max(pool.apart, nodes_apart(problem_, bound_to_it));
    }
  }

  /// Assigns the minimum per domain to each domain, and the remaining pods to the whole cluster.
  void add(const EvenPods& even) {
    const PodIndex first = even.pods.front();
    if (is_even_[first] || even.least == 0 || even.domains() > kMaxPools) return;
    const std::uint32_t requests = problem_.base().request_set_of(first);
    one_of_[requests] = first;
    std::vector<Nodes> domains(even.domains(), Nodes(problem_.base().node_count(), false));
    for (const NodeIndex node : problem_.nodes()) domains[even.topology->domain_of[node]][node] = true;
    for (const Nodes& domain : domains) footprints_[footprint(domain)].pods[requests] += even.least;
    footprints_[kWholeCluster].pods[requests] += even.pods.size() - even.least * domains.size();
    for (const PodIndex pod : even.pods) is_even_[pod] = true;
  }

  /// Returns the footprint of the pod. Caches by the address of shared parts, which equal pods of a workload share.
  std::size_t footprint_of(PodIndex pod) {
    const api::Pod& object = problem_.base().pod(pod);
    const bool has_terms = object.affinity && object.affinity->required_node_terms;
    const Key key{object.node_selector.empty() ? nullptr : object.node_selector.begin(),
                  has_terms ? object.affinity.get() : nullptr,
                  object.tolerations.empty() ? nullptr : object.tolerations.data(),
                  problem_.base().request_set_of(pod)};
    const auto known = by_key_.find(key);
    if (known != by_key_.end()) return known->second;
    if (by_key_.size() == kMaxFootprints) return kWholeCluster;
    return by_key_[key] = footprint(nodes_for(pod));
  }

  Nodes nodes_for(PodIndex pod) const {
    const api::Pod& object = problem_.base().pod(pod);
    Nodes nodes(problem_.base().node_count(), false);
    for (const NodeIndex node : problem_.nodes()) {
      const api::Node& there = problem_.base().node(node);
      nodes[node] =
          problem_.takes(node) && emptied_.hold(node, problem_.base().requests(pod)) &&
          scheduling::matches_node_terms(object, there) &&
          scheduling::first_untolerated(object.tolerations, there.taints,
                                        {api::TaintEffect::kNoSchedule, api::TaintEffect::kNoExecute}) == nullptr;
    }
    return nodes;
  }

  static bool is_inside(const Nodes& inner, const Nodes& outer) {
    for (std::size_t i = 0; i < inner.size(); ++i) {
      if (inner[i] && !outer[i]) return false;
    }
    return true;
  }
  static bool are_apart(const Nodes& one, const Nodes& two) {
    for (std::size_t i = 0; i < one.size(); ++i) {
      if (one[i] && two[i]) return false;
    }
    return true;
  }

  /// Builds pools from the smallest footprint up, so that inner pools come first. Pods of a footprint that is left out
  /// are counted in all pools around it.
  void build() {
    std::vector<std::pair<std::size_t, std::size_t>> order;  // number of nodes, footprint
    for (std::size_t i = 0; i < footprints_.size(); ++i) {
      const auto nodes = static_cast<std::size_t>(std::ranges::count(footprints_[i].is_in, true));
      if (i != kWholeCluster && !footprints_[i].pods.empty()) order.emplace_back(nodes, i);
    }
    std::ranges::sort(order);
    std::vector<std::size_t> left_out;
    for (const auto& [nodes, i] : order) {
      const auto is_clear = [&, i = i](const Pool& pool) {
        return is_inside(pool.is_in, footprints_[i].is_in) || are_apart(pool.is_in, footprints_[i].is_in);
      };
      if (pools_.size() < kMaxPools && std::ranges::all_of(pools_, is_clear)) {
        append(footprints_[i]);
      } else {
        left_out.push_back(i);
      }
    }
    append(footprints_[kWholeCluster]);
    for (const std::size_t i : left_out) count_in(footprints_[i]);
  }

  void append(Pool pool) {
    for (const NodeIndex node : problem_.nodes()) {
      if (pool.is_in[node]) pool.nodes.push_back(node);
    }
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      if (is_inside(pools_[i].is_in, pool.is_in)) pool.inside.push_back(i);
    }
    for (const std::size_t i : pool.inside) {
      if (is_outermost(i, pool)) add_counts(pools_[i].pods, pool.pods);
    }
    pools_.push_back(std::move(pool));
  }
  /// Returns true if the pool is inside no other inner pool of `around`.
  bool is_outermost(std::size_t pool, const Pool& around) const {
    return std::ranges::none_of(around.inside, [&](std::size_t other) {
      return std::ranges::find(pools_[other].inside, pool) != pools_[other].inside.end();
    });
  }
  static void add_counts(const std::map<std::uint32_t, std::size_t>& from, std::map<std::uint32_t, std::size_t>& to) {
    for (const auto& [requests, count] : from) to[requests] += count;
  }
  /// Counts the pods in all pools around the footprint.
  void count_in(const Pool& footprint) {
    for (Pool& pool : pools_) {
      if (is_inside(footprint.is_in, pool.is_in)) add_counts(footprint.pods, pool.pods);
    }
  }

  using Key = std::tuple<const void*, const void*, const void*, std::uint32_t>;
  const DefragmentationProblem& problem_;
  const EmptiedNodes& emptied_;
  std::vector<bool> is_even_;     ///< indexed by pod: counted by domain
  std::vector<PodIndex> one_of_;  ///< a pod of each request set
  std::map<Nodes, std::size_t> numbers_;
  std::vector<Pool> footprints_;
  std::map<Key, std::size_t> by_key_;
  std::vector<Pool> pools_;
};

/// Capacity and demand in one resource, or in a combination of several.
struct Measure {
  std::vector<std::int64_t> capacity;  ///< indexed by node
  std::int64_t wanted = 0;
};

class PoolBound {
 public:
  PoolBound(const DefragmentationProblem& problem, const std::vector<EvenPods>& even,
            const std::vector<PodsApart>& apart)
      : problem_(problem), emptied_(problem), pools_(problem, even, apart, emptied_) {}

  std::size_t nodes_needed(const std::function<bool()>& should_stop) {
    if (pools_.all().size() == 1) return 0;
    for (Pool& pool : pools_.all()) {
      pool.needed = pool.apart;
      for (ResourceIndex r = 0; r < emptied_.resources() && !should_stop(); ++r)
        pool.needed = std::max(pool.needed, count(pool, by_resource(pool, r)));
      for (int i = 1; i < kMixParts && !should_stop(); ++i)
        pool.needed = std::max(pool.needed, count(pool, by_mix(pool, static_cast<double>(i) / kMixParts)));
    }
    return pools_.all().back().needed;
  }

 private:
  template <typename F>
  void for_each_request(const Pool& pool, ResourceIndex resource, F&& each) const {
    for (const auto& [requests, pods] : pool.pods) {
      const std::int64_t amount = taken_of(problem_.base().requests(pools_.one_of(requests)), resource);
      if (amount > 0) each(amount, static_cast<std::int64_t>(pods));
    }
  }

  /// Measures one resource. If all pods request multiples of some amount, the remainder of each node stays unused.
  Measure by_resource(const Pool& pool, ResourceIndex resource) const {
    Measure measure{std::vector<std::int64_t>(problem_.base().node_count(), 0)};
    std::int64_t divisor = 0;
    for_each_request(pool, resource, [&](std::int64_t amount, std::int64_t pods) {
      divisor = std::gcd(divisor, amount);
      for (std::int64_t i = 0; i < pods; ++i) measure.wanted = saturating_add(measure.wanted, amount);
    });
    if (divisor == 0) return measure;
    for (const NodeIndex node : pool.nodes) measure.capacity[node] = emptied_.get(node, resource) / divisor * divisor;
    return measure;
  }

  Measure by_mix(const Pool& pool, double cpu) const {
    std::vector<double> capacity(problem_.base().node_count(), 0);
    double wanted = 0;
    for (const auto& [resource, weight] : weights_of_mix(cpu)) {
      const double unit = weight / average_offer(problem_, resource);
      for (const NodeIndex node : pool.nodes)
        capacity[node] += unit * static_cast<double>(emptied_.get(node, resource));
      for_each_request(pool, resource, [&](std::int64_t amount, std::int64_t pods) {
        wanted += unit * static_cast<double>(amount) * static_cast<double>(pods);
      });
    }
    return {rounded_up(capacity), rounded_down(wanted)};
  }

  /// Minimum number of nodes of the pool that hold the demand, including held nodes and the nodes that inner pools
  /// need. In each inner pool the nodes with the largest capacity are taken.
  std::size_t count(const Pool& pool, const Measure& measure) const {
    std::vector<std::pair<std::int64_t, NodeIndex>> order;
    for (const NodeIndex node : pool.nodes) order.emplace_back(-measure.capacity[node], node);
    std::ranges::sort(order);
    Nodes chosen(problem_.base().node_count(), false);
    for (const NodeIndex node : pool.nodes) chosen[node] = problem_.is_held(node);
    for (const std::size_t i : pool.inside) {
      const Pool& inner = pools_.all()[i];
      std::size_t now = 0;
      for (const NodeIndex node : inner.nodes) now += chosen[node] ? 1 : 0;
      for (std::size_t k = 0; k < order.size() && now < inner.needed; ++k) {
        const NodeIndex node = order[k].second;
        if (chosen[node] || !inner.is_in[node]) continue;
        chosen[node] = true;
        ++now;
      }
    }
    std::int64_t left = measure.wanted;
    std::size_t count = 0;
    for (const NodeIndex node : pool.nodes) {
      if (!chosen[node]) continue;
      left = saturating_subtract(left, measure.capacity[node]);
      ++count;
    }
    for (const auto& [capacity, node] : order) {
      if (left <= 0 || capacity == 0) break;
      if (chosen[node]) continue;
      left = saturating_add(left, capacity);
      ++count;
    }
    return count;
  }

  const DefragmentationProblem& problem_;
  EmptiedNodes emptied_;
  Pools pools_;
};

}  // namespace

std::size_t nodes_needed_by_pools(const DefragmentationProblem& problem, const std::vector<EvenPods>& even,
                                  const std::vector<PodsApart>& apart, const std::function<bool()>& should_stop) {
  return PoolBound(problem, even, apart).nodes_needed(should_stop);
}

}  // namespace strategies
