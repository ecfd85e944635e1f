#include "planner/scheduling/predicates.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace scheduling {

FitQuery::FitQuery(const WhatIf& cluster, PodIndex pod, FitLevel level, OldPod old_pod)
    : cluster_(&cluster), pod_(pod), old_pod_(old_pod) {
  if (level == FitLevel::kScheduler) {  // rules of kBasic examine single nodes and need no preparation
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
  static_assert(kBasicPredicates.size() <= kMaxRules && kSchedulerRules.size() <= kMaxRules);
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

std::optional<Refusal> FitQuery::refusal_ignoring_capacity(NodeIndex node) const {
  for (std::size_t i = 0; i < rule_count_; ++i) {
    if (rules_[i] == &refuse_shortage_strictly) continue;
    if (auto refusal = rules_[i](*this, node)) return refusal;
  }
  return std::nullopt;
}

bool FitQuery::fits_ignoring_capacity_and_spread(NodeIndex node) const {
  return std::all_of(rules_.begin(), rules_.begin() + static_cast<std::ptrdiff_t>(rule_count_), [&](Predicate rule) {
    return rule == &refuse_shortage_strictly || rule == &refuse_skew || !rule(*this, node);
  });
}

std::optional<std::size_t> find_other_node(const WhatIf& cluster, PodIndex pod, std::span<const NodeIndex> nodes,
                                           FitLevel level, std::size_t first) {
  const auto query = cluster.fit_query(pod, level);
  const NodeIndex here = cluster.node_of(pod);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t at = (first + i) % nodes.size();
    if (nodes[at] != here && query->fits(nodes[at])) return at;
  }
  return std::nullopt;
}

void Misfits::add(NodeIndex node, const Refusal& refusal) {
  ++nodes_;
  const auto is_same = [&](const Group& group) {
    if (group.refusal.reason != refusal.reason) return false;
    // The subject names another pod.
    return group.refusal.subject == refusal.subject || refusal.reason == "AntiAffinity";
  };
  const auto known = std::ranges::find_if(groups_, is_same);
  if (known == groups_.end())
    groups_.push_back({refusal, node, 1});
  else
    ++known->count;
}

std::string Misfits::text() const {
  std::vector<Group> sorted = groups_;
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &Group::count);
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMaxNamed); ++i) {
    const Group& group = sorted[i];
    const std::string more = group.count > 1 ? fmt::format(" and {} more", group.count - 1) : "";
    text += fmt::format("{}{} of {} nodes: {} ({}{})", i == 0 ? "" : "; ", group.count, nodes_, group.refusal.message(),
                        cluster_.node(group.node).meta.name, more);
  }
  if (sorted.size() > kMaxNamed) text += fmt::format("; and {} other reasons", sorted.size() - kMaxNamed);
  return text;
}

Misfits misfits_of(const WhatIf& cluster, PodIndex pod, FitLevel level,
                   const std::function<bool(NodeIndex node)>& is_asked) {
  Misfits misfits(cluster.base());
  const auto query = cluster.fit_query(pod, level);
  for (const NodeIndex node : cluster.base().nodes()) {
    if (node == cluster.base().node_of(pod) || !is_asked(node)) continue;
    auto refusal = query->refusal_ignoring_capacity(node);
    if (!refusal) refusal = query->refusal(node);
    if (!refusal) return Misfits(cluster.base());
    misfits.add(node, *refusal);
    if (misfits.nodes() == kMaxCheckedNodes) break;
  }
  return misfits;
}

}  // namespace scheduling
