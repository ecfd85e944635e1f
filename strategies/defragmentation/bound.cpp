#include "strategies/defragmentation/bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "scheduling/predicates.hpp"

namespace strategies {
namespace {

using scheduling::ClusterSnapshot;
using scheduling::ResourceIndex;

void raise(LowerBound& bound, std::size_t needed, const std::function<std::string()>& reason) {
  if (needed <= bound.needed) return;
  bound.needed = needed;
  bound.reason = reason();
}

/// The fewest nodes that could hold what is requested of the resource. Pods that ask for multiples of some amount leave
/// the rest of a node unused.
std::size_t needed_for(const DefragmentationProblem& problem, ResourceIndex resource) {
  const ClusterSnapshot& base = problem.base();
  const auto amount_of = [&](PodIndex pod) {
    return resource == scheduling::kPodsIndex ? 1000 : scheduling::amount_of(base.requests(pod), resource);
  };
  std::int64_t left = 0;
  std::int64_t divisor = 0;
  std::vector<std::int64_t> must;
  std::vector<std::int64_t> may;
  for (const NodeIndex node : problem.nodes()) {
    std::int64_t capacity = scheduling::saturating_subtract(base.allocatable().get(node, resource),
                                                            problem.cluster().used().get(node, resource));
    for (const PodIndex pod : problem.pods_on(node)) {
      left = scheduling::saturating_add(left, amount_of(pod));
      divisor = std::gcd(divisor, amount_of(pod));
      capacity = scheduling::saturating_add(capacity, amount_of(pod));
    }
    (problem.is_held(node) ? must : may).push_back(capacity);
  }
  std::ranges::sort(may, std::greater{});
  std::size_t count = 0;
  const auto fill = [&](std::int64_t capacity) {
    left = scheduling::saturating_subtract(left,
                                           divisor > 0 ? std::max<std::int64_t>(capacity, 0) / divisor * divisor : 0);
    ++count;
  };
  for (const std::int64_t capacity : must) fill(capacity);
  for (std::size_t i = 0; i < may.size() && left > 0 && may[i] > 0; ++i) fill(may[i]);
  return count;
}

void raise_by_anti_affinity(const DefragmentationProblem& problem, const ClusterSnapshot::AntiAffineGroup& group,
                            LowerBound& bound) {
  const ClusterSnapshot& base = problem.base();
  const PodIndex first = group.front();
  const auto& terms = base.pod(first).affinity->required_pod_anti_affinity;
  const bool repel = std::ranges::any_of(terms, [&](const api::PodAffinityTerm& term) {
    const bool is_per_node = problem.cluster().topology(term.topology_key).domain_names.size() == base.node_count();
    return is_per_node && scheduling::covers(term, first, first, base);
  });
  if (!repel) return;
  const auto counts = [&](PodIndex pod) { return problem.has_to_stay_somewhere(pod); };
  const auto pods = static_cast<std::size_t>(std::ranges::count_if(group, counts));
  raise(bound, pods, [&] {
    const api::ObjectMeta& meta = base.pod(first).meta;
    return fmt::format("{} pods that repel one another, such as {}/{}", pods, meta.ns, meta.name);
  });
}

}  // namespace

LowerBound lower_bound_of(const DefragmentationProblem& problem) {
  LowerBound bound;
  const ClusterSnapshot& base = problem.base();
  for (const NodeIndex node : problem.nodes()) bound.busy += problem.pods_on(node).empty() ? 0 : 1;
  raise(bound, problem.held_nodes(),
        [&] { return fmt::format("{} nodes with pods that may not leave", problem.held_nodes()); });
  for (ResourceIndex resource = 0; resource < base.resources().size(); ++resource) {
    raise(bound, needed_for(problem, resource),
          [&] { return "requests of " + std::string(base.resources().name(resource)); });
  }
  for (scheduling::NamespaceIndex ns = 0; ns < base.namespace_count(); ++ns) {
    for (const auto& group : base.anti_affine_towards(ns)) raise_by_anti_affinity(problem, group, bound);
  }
  bound.needed = std::min(bound.needed, bound.busy);
  return bound;
}

}  // namespace strategies
