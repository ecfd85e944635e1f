#include "scheduling/predicates.hpp"

#include <algorithm>

namespace scheduling {

std::span<const Predicate> predicates_of(FitLevel level) {
  switch (level) {
    case FitLevel::kBasic: return kBasicPredicates;
    case FitLevel::kScheduler: return kSchedulerPredicates;
  }
  std::abort();
}

FitQuery::FitQuery(const Overlay& cluster, PodIndex pod, FitLevel level)
    : cluster_(&cluster), pod_(pod), level_(level) {
  if (level == FitLevel::kBasic) return;  // its rules look at one node at a time
  find_own_anti_affinity();
  find_anti_affinity_of_others();
  find_affinity();
  find_volumes();
  count_spread();
}

std::optional<Refusal> FitQuery::refusal(NodeIndex node) const {
  for (const Predicate predicate : predicates_of(level_)) {
    if (auto refusal = predicate(*this, node)) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> first_refusal(const Overlay& cluster, PodIndex pod, NodeIndex node, FitLevel level) {
  return FitQuery(cluster, pod, level).refusal(node);
}

std::optional<std::size_t> find_other_node(const Overlay& cluster, PodIndex pod, std::span<const NodeIndex> nodes,
                                           FitLevel level, std::size_t first) {
  const FitQuery query(cluster, pod, level);
  const NodeIndex here = cluster.node_of(pod);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t at = (first + i) % nodes.size();
    if (nodes[at] != here && query.fits(nodes[at])) return at;
  }
  return std::nullopt;
}

}  // namespace scheduling
