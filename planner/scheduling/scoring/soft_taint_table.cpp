#include "planner/scheduling/scoring/soft_taint_table.hpp"

#include <algorithm>
#include <utility>

namespace scheduling {
namespace {

bool bears_from_others(const api::Node& node, const SoftTaint& soft) {
  return std::ranges::any_of(node.taints, [&](const api::Taint& taint) {
    return taint.key == soft.key && taint.value != soft.value && taint.effect == api::TaintEffect::kPreferNoSchedule;
  });
}

}  // namespace

SoftTaintTable::SoftTaintTable(const ClusterSnapshot& base, std::vector<SoftTaint> taints)
    : all(std::move(taints)), bears(base.node_count(), false), where(all.size()), count(base.node_count(), 0) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const NodeIndex node : all[i].nodes) {
      bears[node] = true;
      if (bears_from_others(base.node(node), all[i])) continue;
      where[i].push_back(node);
      most = std::max(most, ++count[node]);
    }
  }
  const auto is_foreign = [this](const api::Taint& taint) {
    return taint.effect == api::TaintEffect::kPreferNoSchedule && !holds(taint);
  };
  for (const NodeIndex node : base.nodes()) {
    if (std::ranges::any_of(base.node(node).taints, is_foreign)) foreign.push_back(node);
  }
}

bool SoftTaintTable::holds(const api::Taint& taint) const {
  return std::ranges::any_of(all,
                             [&](const SoftTaint& soft) { return soft.key == taint.key && soft.value == taint.value; });
}

}  // namespace scheduling
