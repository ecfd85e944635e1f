#include "strategies/spread/balance.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <unordered_map>

#include "scheduling/predicates.hpp"
#include "strategies/listing.hpp"
#include "strategies/spread/component.hpp"
#include "strategies/spread/state.hpp"
#include "strategies/uneven_counts.hpp"

namespace strategies {
namespace {

using scheduling::ClusterSnapshot;
using scheduling::kNoNode;

std::vector<NodeIndex> every_node(const ClusterSnapshot& cluster) {
  std::vector<NodeIndex> nodes;
  nodes.reserve(cluster.node_count());
  for (const NodeIndex node : cluster.nodes()) nodes.push_back(node);
  return nodes;
}

/// One namespace under way.
struct NamespaceSpread {
  std::deque<SpreadState> states;              ///< components point to them
  std::vector<std::vector<PodIndex>> members;  ///< by state: the pods counted, in order
  std::vector<std::int64_t> pending;           ///< by state: pods that will be counted, on no node yet
};

/// Rules that count the same pods.
std::vector<SpreadMembers> groups_of(NamespaceSpread& spread) {
  std::map<std::vector<PodIndex>, SpreadMembers> groups;
  for (std::size_t i = 0; i < spread.states.size(); ++i) {
    SpreadMembers& group = groups[spread.members[i]];
    group.states.push_back(&spread.states[i]);
    group.pending = spread.pending[i];
  }
  std::vector<SpreadMembers> result;
  for (auto& [pods, group] : groups) {
    if (!pods.empty()) result.push_back({std::move(group.states), pods, group.pending});
  }
  return result;
}

/// Joins groups that share a pod.
std::vector<SpreadComponent> components_of(NamespaceSpread& spread) {
  std::vector<SpreadMembers> groups = groups_of(spread);
  std::vector<std::size_t> joined(groups.size());
  std::iota(joined.begin(), joined.end(), std::size_t{0});
  const auto root = [&](std::size_t i) {
    while (joined[i] != i) i = joined[i] = joined[joined[i]];
    return i;
  };
  std::unordered_map<PodIndex, std::size_t> first;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const PodIndex pod : groups[i].pods) joined[root(i)] = root(first.emplace(pod, i).first->second);
  }
  std::map<std::size_t, SpreadComponent> components;
  for (std::size_t i = 0; i < groups.size(); ++i) components[root(i)].push_back(std::move(groups[i]));
  std::vector<SpreadComponent> result;
  for (auto& [index, component] : components) result.push_back(std::move(component));
  return result;
}

class SpreadBalancer {
 public:
  SpreadBalancer(const StrategyContext& context, NominationSink& sink,
                 const RemovePodsViolatingTopologySpreadConstraint::Args& args)
      : context_(context),
        cluster_(context.cluster.base()),
        args_(args),
        run_{context,
             sink,
             args,
             pods_in(args.scope, context),
             Trial(context),
             std::vector<bool>(cluster_.node_count(), false),
             std::vector<bool>(cluster_.node_count(), false)},
        nodes_(every_node(cluster_)),
        cache_(context.cluster, nodes_, true) {
    for (const NodeIndex node : context.nodes) run_.looked_at[node] = true;
  }

  void run() {
    for_each_namespace([this](NamespaceSpread& spread) {
      add_to(before_, spread);
      for (const SpreadComponent& component : components_of(spread)) {
        if (!run_.is_stopped) even_out(run_, component);
      }
      add_to(after_, spread);
    });
    tell_counts(kCountsByDomain, before_, after_, run_.sink);
  }

  /// Moves nothing.
  UnevenCounts count() {
    for_each_namespace([this](const NamespaceSpread& spread) { add_to(before_, spread); });
    return before_;
  }

 private:
  template <typename F>
  void for_each_namespace(F&& each) {
    for (scheduling::NamespaceIndex ns = 0; ns < cluster_.namespace_count(); ++ns) {
      collect_rules(ns);
      if (rules_.rules().empty()) continue;
      NamespaceSpread spread = count_pods(ns);
      each(spread);
    }
  }

  static void add_to(UnevenCounts& counts, const NamespaceSpread& spread) {
    for (const SpreadState& state : spread.states) {
      const std::vector<std::uint32_t>& open = state.domains().open;
      std::int64_t pods = 0;
      for (const std::uint32_t domain : open) pods += state.count(domain);
      counts.begin_group(open.empty() ? 0 : static_cast<double>(pods) / static_cast<double>(open.size()));
      const std::int64_t limit = state.limit();
      for (const std::uint32_t domain : open) counts.add(state.count(domain), limit);
    }
  }

  NodeIndex node_of(PodIndex pod) const { return context_.cluster.node_of(pod); }

  /// The scheduler counts it: bound, neither terminal nor terminating.
  bool is_counted(PodIndex pod) const { return node_of(pod) != kNoNode && cluster_.is_staying(pod); }

  bool waits_for_node(PodIndex pod) const { return node_of(pod) == kNoNode && cluster_.is_staying(pod); }

  void collect_rules(scheduling::NamespaceIndex ns) {
    rules_.clear();
    for (const PodIndex pod : cluster_.pods_in(ns)) {
      const api::Pod& object = cluster_.pod(pod);
      if (object.topology_spread.empty() || !is_counted(pod) || !run_.in_scope(pod)) continue;
      for (const api::TopologySpreadConstraint& constraint : object.topology_spread) {
        if (!(constraint.schedule_anyway ? args_.soft : args_.hard)) continue;
        if (scheduling::asks_for_pods(constraint, object)) rules_.add(constraint, object, true);
      }
    }
  }

  NamespaceSpread count_pods(scheduling::NamespaceIndex ns) {
    NamespaceSpread spread;
    for (const SpreadRule& rule : rules_.rules()) {
      SpreadState& state = spread.states.emplace_back(rule, cache_.domains_of(rule));
      std::vector<PodIndex>& members = spread.members.emplace_back();
      spread.pending.push_back(0);
      context_.cluster.selector_cache().labels_in(ns).for_each_match(rule.selector, [&](PodIndex pod) {
        if (waits_for_node(pod)) ++spread.pending.back();
        if (!is_counted(pod)) return;
        state.add(node_of(pod));
        members.push_back(pod);
      });
      state.seal();
      std::ranges::sort(members);
    }
    return spread;
  }

  const StrategyContext& context_;
  const ClusterSnapshot& cluster_;
  const RemovePodsViolatingTopologySpreadConstraint::Args& args_;
  SpreadRun run_;
  std::vector<NodeIndex> nodes_;
  SpreadDomainCache cache_;
  SpreadRules rules_;
  UnevenCounts before_{context_.nodes.size()};
  UnevenCounts after_ = before_;
};

}  // namespace

void balance(const StrategyContext& context, NominationSink& sink,
             const RemovePodsViolatingTopologySpreadConstraint::Args& args) {
  SpreadBalancer(context, sink, args).run();
}

UnevenCounts count_by_domain(const StrategyContext& context, NominationSink& sink,
                             const RemovePodsViolatingTopologySpreadConstraint::Args& args) {
  return SpreadBalancer(context, sink, args).count();
}

}  // namespace strategies
