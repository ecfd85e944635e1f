#include "planner/strategies/defragmentation/bound/bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "planner/scheduling/predicates.hpp"

namespace strategies {
namespace {

class HeldNodes {
 public:
  HeldNodes(const DefragmentationProblem& problem, const WhatIf& cluster, const std::vector<NodeIndex>& avoided)
      : problem_(problem), cluster_(cluster), avoided_(avoided) {}

  std::vector<EmptyingReport::Held> list(std::size_t most) const {
    std::vector<EmptyingReport::Held> rows;
    for (const NodeIndex node : problem_.nodes()) {
      if (rows.size() == most) break;
      std::vector<PodIndex> pods;
      cluster_.for_each_on(node, [&](PodIndex pod) {
        if (problem_.has_to_stay_somewhere(pod)) pods.push_back(pod);
      });
      if (!pods.empty()) rows.push_back(row_of(node, pods));
    }
    return rows;
  }

 private:
  EmptyingReport::Held row_of(NodeIndex node, const std::vector<PodIndex>& pods) const {
    const auto held = std::ranges::find(problem_.held(), node, &HeldNode::node);
    if (held != problem_.held().end()) return row(node, held->pod, held->refusal.reason, held->refusal.message());
    if (problem_.is_held(node)) return {name_of(node), "", "", "NotSelected", "nodeSelector does not select it"};
    // A replacement that is created while the old pod exists may have to fit next to it.
    for (const auto old_pod : {scheduling::OldPod::kGone, scheduling::OldPod::kStays}) {
      for (const PodIndex pod : pods) {
        if (const auto refusal = only_here(pod, node, old_pod)) return row(node, pod, refusal->first, refusal->second);
      }
    }
    return {name_of(node), "", "", "NoRoomTogether",
            fmt::format("its {} pods do not fit on the other nodes together", pods.size())};
  }

  /// Explains why the pod fits no other node that takes pods, by the most frequent refusal.
  std::optional<std::pair<std::string, std::string>> only_here(PodIndex pod, NodeIndex here,
                                                               scheduling::OldPod old_pod) const {
    const FitQuery query(cluster_, pod, FitLevel::kScheduler, old_pod);
    std::map<std::string_view, std::pair<std::size_t, Refusal>> refusals;
    std::size_t nodes = 0;
    for (const NodeIndex node : problem_.taking()) {
      if (node == here || std::ranges::binary_search(avoided_, node)) continue;
      ++nodes;
      auto refusal = query.refusal_ignoring_capacity(node);
      if (!refusal) refusal = query.refusal(node);
      if (!refusal) return std::nullopt;
      ++refusals.try_emplace(refusal->reason, 0, *refusal).first->second.first;
    }
    if (refusals.empty()) return std::pair<std::string, std::string>("NoOtherNode", "no other node accepts pods");
    const auto& [reason, most] =
        *std::ranges::max_element(refusals, {}, [](const auto& each) { return each.second.first; });
    return std::pair(std::string(reason), describe(most.first, nodes, most.second));
  }

  static std::string describe(std::size_t count, std::size_t nodes, const Refusal& refusal) {
    const bool repels = refusal.reason == "AntiAffinity" || refusal.reason == "ExistingAntiAffinity";
    return fmt::format("{} of {} other nodes do not accept it: {}{}", count, nodes, refusal.message(),
                       repels ? " (required anti-affinity; preferred anti-affinity would free the node)" : "");
  }

  std::string name_of(NodeIndex node) const { return problem_.base().node(node).meta.name; }
  EmptyingReport::Held row(NodeIndex node, PodIndex pod, std::string_view reason, std::string message) const {
    const api::ObjectMeta& meta = problem_.base().pod(pod).meta;
    return {name_of(node), meta.ns, meta.name, std::string(reason), std::move(message)};
  }

  const DefragmentationProblem& problem_;
  const WhatIf& cluster_;
  const std::vector<NodeIndex>& avoided_;
};

}  // namespace

std::vector<EmptyingReport::Held> held_nodes(const DefragmentationProblem& problem, const WhatIf& cluster,
                                             const std::vector<NodeIndex>& avoided, std::size_t most) {
  return HeldNodes(problem, cluster, avoided).list(most);
}

}  // namespace strategies
