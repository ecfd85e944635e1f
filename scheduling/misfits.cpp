#include "scheduling/misfits.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace scheduling {

void Misfits::add(NodeIndex node, const Refusal& refusal) {
  ++nodes_;
  const auto is_same = [&](const Group& group) {
    if (group.refusal.reason != refusal.reason) return false;
    return group.refusal.subject == refusal.subject || refusal.reason == "AntiAffinity";  // about other pods
  };
  const auto known = std::ranges::find_if(groups_, is_same);
  if (known == groups_.end())
    groups_.push_back({refusal, node, 1});
  else
    ++known->count;
}

const Misfits::Group& Misfits::largest() const { return *std::ranges::max_element(groups_, {}, &Group::count); }

std::string Misfits::text() const {
  std::vector<Group> sorted = groups_;
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &Group::count);
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostNamed); ++i) {
    const Group& group = sorted[i];
    const std::string more = group.count > 1 ? fmt::format(" and {} more", group.count - 1) : "";
    text += fmt::format("{}{} of {} nodes: {} ({}{})", i == 0 ? "" : "; ", group.count, nodes_, group.refusal.message(),
                        cluster_.node(group.node).meta.name, more);
  }
  if (sorted.size() > kMostNamed) text += fmt::format("; and {} other reasons", sorted.size() - kMostNamed);
  return text;
}

Misfits misfits_of(const Overlay& cluster, PodIndex pod, FitLevel level,
                   const std::function<bool(NodeIndex node)>& is_asked) {
  Misfits misfits(cluster.base());
  const auto query = cluster.fit_query(pod, level);
  for (const NodeIndex node : cluster.base().nodes()) {
    if (node == cluster.base().node_of(pod) || !is_asked(node)) continue;
    auto refusal = query->refusal_beside_room(node);
    if (!refusal) refusal = query->refusal(node);
    if (!refusal) return Misfits(cluster.base());
    misfits.add(node, *refusal);
    if (misfits.nodes() == kMostAsked) break;
  }
  return misfits;
}

}  // namespace scheduling
