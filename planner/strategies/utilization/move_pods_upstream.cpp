#include "planner/strategies/utilization/move_pods.hpp"

#include <algorithm>

#include "planner/strategies/eviction_order.hpp"
#include "planner/strategies/listing.hpp"

namespace strategies {
namespace {

using scheduling::saturating_add;
using scheduling::saturating_subtract;

std::vector<NodeIndex> numbers_of(const std::vector<NodeUsage>& nodes) {
  std::vector<NodeIndex> numbers;
  for (const NodeUsage& node : nodes) numbers.push_back(node.node);
  return numbers;
}

class UpstreamMoveLoop {
 public:
  UpstreamMoveLoop(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                   const std::vector<std::string>& resources, MoveRules rules)
      : context_(context),
        sink_(sink),
        usage_(usage),
        resources_(resources),
        rules_(std::move(rules)),
        taints_(context.cluster.base(), numbers_of(rules_.destinations)),
        capacity_(resources.size(), 0) {
    for (const NodeUsage& node : rules_.destinations) {
      for (std::size_t r = 0; r < resources_.size(); ++r) {
        capacity_[r] = saturating_add(capacity_[r], saturating_subtract(allowance(node, r), node.used[r]));
      }
    }
  }

  void run() {
    for (NodeUsage& node : rules_.sources) {
      if (!relieve(node)) return;
    }
  }

 private:
  std::int64_t allowance(const NodeUsage& node, std::size_t r) const {
    if (!node.capacity[r]) return 0;
    const auto& percent = rules_.target_percent[r];
    return percent ? share_of(*node.capacity[r], *percent, resources_[r]) : *node.capacity[r];
  }

  bool goes_on(const NodeUsage& node) const {
    bool above = rules_.drain;
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      if (capacity_[r] <= 0) return false;
      above = above || node.used[r] > allowance(node, r);
    }
    return above;
  }

  std::vector<PodIndex> removable_pods(const NodeUsage& node) {
    std::vector<PodIndex> pods = pods_on(context_, node.node, PodStates::kActive);
    std::erase_if(pods, [&](PodIndex pod) {
      if (rules_.wants && !rules_.wants(context_.cluster.base().pod(pod))) return true;
      const auto refusal = protection_refusal(context_, sink_, pod);
      if (refusal) sink_.refused(pod, *refusal);
      return refusal.has_value();
    });
    sort_for_eviction(pods, context_.cluster.base());
    return pods;
  }

  /// Takes pods from one node. Returns false if the cycle's total limit is reached.
  bool relieve(NodeUsage& node) {
    const std::vector<PodIndex> pods = removable_pods(node);
    if (!goes_on(node)) return true;
    const std::string reason = rules_.reason(node);
    std::uint32_t evicted = 0;
    for (const PodIndex pod : pods) {
      if (rules_.evictions_per_node && evicted >= *rules_.evictions_per_node) return true;
      if (!is_movable(pod)) continue;
      const auto freed = usage_of(pod);
      if (!freed) continue;
      const NominationResult result = sink_.offer(pod, reason);
      if (result == NominationResult::kTotalLimit) return false;
      if (result == NominationResult::kNodeLimit) return true;
      if (result != NominationResult::kAccepted) continue;
      ++evicted;
      if (!usage_.has_pod_usage()) {  // the effect is unknown: one pod, unless evictions_per_node is set
        if (!rules_.evictions_per_node) return true;
        continue;
      }
      account(node, *freed);
      if (!goes_on(node)) return true;
    }
    return true;
  }

  bool is_movable(PodIndex pod) {
    const api::Pod& object = context_.cluster.base().pod(pod);
    std::optional<scheduling::Refusal> refusal;
    if (!taints_.accept(object)) {
      refusal = {"NoDestinationTolerated", "it does not tolerate the taints of any node that has free capacity"};
    } else if (std::ranges::find(rules_.excluded_namespaces, object.meta.ns) != rules_.excluded_namespaces.end()) {
      refusal = {"NamespaceExcluded", "evictableNamespaces excludes the namespace {subject}", object.meta.ns};
    } else {
      refusal = last_protection_of(context_, sink_, pod);
    }
    if (refusal) sink_.refused(pod, *refusal);
    return !refusal;
  }

  /// Returns nullopt if measured usage is missing, so that the pod is left alone.
  std::optional<std::vector<std::int64_t>> usage_of(PodIndex pod) const {
    std::vector<std::int64_t> used(resources_.size(), 0);
    if (!usage_.has_pod_usage()) return used;
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      const auto amount = usage_.of_pod(pod, resources_[r]);
      if (!amount) return std::nullopt;
      used[r] = *amount;
    }
    return used;
  }

  void account(NodeUsage& node, const std::vector<std::int64_t>& freed) {
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      node.used[r] = saturating_subtract(node.used[r], freed[r]);
      capacity_[r] = saturating_subtract(capacity_[r], freed[r]);
    }
  }

  const StrategyContext& context_;
  NominationSink& sink_;
  const UsageView& usage_;
  const std::vector<std::string>& resources_;
  MoveRules rules_;
  const DestinationTaints taints_;
  std::vector<std::int64_t> capacity_;
};

}  // namespace

void move_pods_upstream(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                        const std::vector<std::string>& resources, MoveRules rules) {
  UpstreamMoveLoop(context, sink, usage, resources, std::move(rules)).run();
}

}  // namespace strategies
