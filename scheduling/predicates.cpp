#include "scheduling/predicates.hpp"

#include <algorithm>

namespace scheduling {

FitQuery::FitQuery(const Overlay& cluster, PodIndex pod, FitLevel level, OldPod old_pod)
    : cluster_(&cluster), pod_(pod), old_pod_(old_pod) {
  if (level == FitLevel::kScheduler) {  // the rules of the other level look at one node at a time
    find_own_anti_affinity();
    find_anti_affinity_of_others();
    find_affinity();
    find_volumes();
    count_spread();
    if (base().has_host_ports(pod)) sort_host_ports();
  }
  choose_rules(level);
}

void FitQuery::choose_rules(FitLevel level) {
  static_assert(kBasicPredicates.size() <= kMostRules && kSchedulerRules.size() <= kMostRules);
  if (level == FitLevel::kBasic) {
    for (const Predicate refuse : kBasicPredicates) rules_[rule_count_++] = refuse;
    return;
  }
  for (const auto& [refuse, concerns] : kSchedulerRules) {
    if (concerns == nullptr || concerns(*this)) rules_[rule_count_++] = refuse;
  }
}

std::optional<Refusal> FitQuery::refusal(NodeIndex node) const {
  for (std::size_t i = 0; i < rule_count_; ++i) {
    if (auto refusal = rules_[i](*this, node)) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> FitQuery::refusal_beside_room(NodeIndex node) const {
  for (std::size_t i = 0; i < rule_count_; ++i) {
    if (rules_[i] == &refuse_shortage_strictly) continue;
    if (auto refusal = rules_[i](*this, node)) return refusal;
  }
  return std::nullopt;
}

bool FitQuery::fits_beside_room_and_spread(NodeIndex node) const {
  return std::all_of(rules_.begin(), rules_.begin() + static_cast<std::ptrdiff_t>(rule_count_), [&](Predicate rule) {
    return rule == &refuse_shortage_strictly || rule == &refuse_skew || !rule(*this, node);
  });
}

std::optional<Refusal> first_refusal(const Overlay& cluster, PodIndex pod, NodeIndex node, FitLevel level) {
  return FitQuery(cluster, pod, level).refusal(node);
}

std::optional<std::size_t> find_other_node(const Overlay& cluster, PodIndex pod, std::span<const NodeIndex> nodes,
                                           FitLevel level, std::size_t first) {
  const auto query = cluster.fit_query(pod, level);
  const NodeIndex here = cluster.node_of(pod);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t at = (first + i) % nodes.size();
    if (nodes[at] != here && query->fits(nodes[at])) return at;
  }
  return std::nullopt;
}

}  // namespace scheduling
