#include "strategies/spread/balance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <unordered_map>

#include "scheduling/predicates.hpp"
#include "strategies/eviction_order.hpp"
#include "strategies/listing.hpp"
#include "strategies/spread/state.hpp"
#include "strategies/trial.hpp"
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
  std::deque<SpreadState> states;                                      ///< stay where they are: goals look at them
  std::unordered_map<PodIndex, std::vector<std::uint32_t>> states_of;  ///< which of them count the pod
  std::vector<std::vector<PodIndex>> members;                          ///< by state: the pods counted
};

class SpreadBalancer {
 public:
  SpreadBalancer(const StrategyContext& context, NominationSink& sink,
                 const RemovePodsViolatingTopologySpreadConstraint::Args& args)
      : context_(context),
        cluster_(context.cluster.base()),
        sink_(sink),
        args_(args),
        in_scope_(pods_in(args.scope, context)),
        trial_(context),
        nodes_(every_node(cluster_)),
        cache_(context.cluster, nodes_),
        looked_at_(cluster_.node_count(), false),
        full_(cluster_.node_count(), false),
        tried_(cluster_.pod_table_size(), false) {
    for (const NodeIndex node : context.nodes) looked_at_[node] = true;
  }

  void run() {
    for_each_namespace([this](NamespaceSpread& spread) {
      add_to(before_, spread);
      bool moved = true;  // filling the emptiest domain may raise what the others may hold, and the other way round
      while (moved && !stopped_) {
        moved = false;
        for (std::uint32_t i = 0; i < spread.states.size() && !stopped_; ++i) moved = relieve(spread, i) || moved;
      }
      add_to(after_, spread);
    });
    tell_counts(kCountsByDomain, before_, after_, sink_);
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

  void collect_rules(scheduling::NamespaceIndex ns) {
    rules_.clear();
    for (const PodIndex pod : cluster_.pods_in(ns)) {
      const api::Pod& object = cluster_.pod(pod);
      if (object.topology_spread.empty() || !is_counted(pod) || !in_scope_(pod)) continue;
      for (const api::TopologySpreadConstraint& constraint : object.topology_spread) {
        if (!(constraint.schedule_anyway ? args_.soft : args_.hard)) continue;
        if (scheduling::asks_for_pods(constraint, object)) rules_.add(constraint, object, true);
      }
    }
  }

  NamespaceSpread count_pods(scheduling::NamespaceIndex ns) {
    NamespaceSpread spread;
    for (const SpreadRule& rule : rules_.rules()) {
      const auto index = static_cast<std::uint32_t>(spread.states.size());
      SpreadState& state = spread.states.emplace_back(rule, cache_.domains_of(rule));
      std::vector<PodIndex>& members = spread.members.emplace_back();
      context_.cluster.selector_cache().labels_in(ns).for_each_match(rule.selector, [&](PodIndex pod) {
        if (!is_counted(pod)) return;
        state.add(node_of(pod));
        members.push_back(pod);
        spread.states_of[pod].push_back(index);
      });
      state.seal();
    }
    return spread;
  }

  /// Takes pods out of the overfull domains of one rule, each time out of the fullest. True: something moved.
  bool relieve(NamespaceSpread& spread, std::uint32_t index) {
    SpreadState& state = spread.states[index];
    if (state.excess() == 0) return false;
    std::vector<std::pair<std::uint32_t, std::vector<PodIndex>>> waiting;  // domain and pods, the next one at the back
    for (const std::uint32_t domain : state.overfull()) {
      waiting.emplace_back(domain, candidates(state, spread.members[index], domain));
    }
    bool moved = false;
    while (!stopped_) {
      const auto fullest = std::ranges::max_element(
          waiting, {}, [&](const auto& each) { return each.second.empty() ? -1 : state.count(each.first); });
      if (fullest == waiting.end() || fullest->second.empty() || state.count(fullest->first) <= state.limit()) break;
      const PodIndex pod = fullest->second.back();
      fullest->second.pop_back();
      moved = try_to_move(spread, state, fullest->first, pod) || moved;
    }
    return moved;
  }

  /// Who may leave the domain; the first to go is the last.
  std::vector<PodIndex> candidates(const SpreadState& state, const std::vector<PodIndex>& members,
                                   std::uint32_t domain) {
    std::vector<PodIndex> pods;
    for (const PodIndex pod : members) {
      const NodeIndex node = node_of(pod);
      if (tried_[pod] || context_.cluster.is_moved(pod) || state.domain_of(node) != domain) continue;
      if (looked_at_[node] && !full_[node] && in_scope_(pod)) pods.push_back(pod);
    }
    sort_for_eviction(pods, cluster_);
    std::ranges::reverse(pods);
    return pods;
  }

  bool try_to_move(NamespaceSpread& spread, SpreadState& state, std::uint32_t domain, PodIndex pod) {
    const NodeIndex from = node_of(pod);
    if (full_[from]) return false;
    tried_[pod] = true;
    if (!may_leave(context_, sink_, pod)) return false;
    const std::vector<std::uint32_t>& concerned = spread.states_of.at(pod);
    const Goal helps = [&](NodeIndex to) { return improves(spread, concerned, from, to); };
    const auto target = find_target(pod, helps);
    if (!target) {
      sink_.refused(pod, {"NoDomainHasCapacity", "it fits on no node where it would even out its constraints"});
      return false;
    }
    const NominationResult result = sink_.offer_towards(pod, describe(state, domain), helps);
    stopped_ = result == NominationResult::kTotalLimit;
    if (result == NominationResult::kNodeLimit) full_[from] = true;
    if (result != NominationResult::kAccepted) return false;
    const NodeIndex to = trial_.place(pod, *target);
    for (const std::uint32_t i : concerned) {
      SpreadState& each = spread.states[i];
      each.move(each.domain_of(from), each.domain_of(to));
    }
    return true;
  }

  static bool improves(const NamespaceSpread& spread, const std::vector<std::uint32_t>& concerned, NodeIndex from,
                       NodeIndex to) {
    std::int64_t gain = 0;
    for (const std::uint32_t i : concerned) {
      const SpreadState& state = spread.states[i];
      const std::uint32_t domain = state.domain_of(to);
      // The scheduler does not put the pod where it cannot count it.
      if (domain == scheduling::Topology::kNone && !state.rule().constraint->schedule_anyway) return false;
      gain += state.excess() - state.excess_after(state.domain_of(from), domain);
    }
    return gain > 0;
  }

  /// A node that helps and takes the pod. Begins where the last one was found: mostly it takes the next one too.
  std::optional<NodeIndex> find_target(PodIndex pod, const Goal& helps) {
    std::shared_ptr<const scheduling::FitQuery> query;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const NodeIndex node = nodes_[(hint_ + i) % nodes_.size()];
      if (!helps(node)) continue;
      if (args_.node_fit && !query) query = trial_.cluster().fit_query(pod, context_.evictability.fit_level());
      if (args_.node_fit && !query->fits(node)) continue;
      hint_ = (hint_ + i) % nodes_.size();
      return node;
    }
    return std::nullopt;
  }

  std::string describe(const SpreadState& state, std::uint32_t domain) const {
    const api::TopologySpreadConstraint& constraint = *state.rule().constraint;
    return fmt::format("{} {} holds {} pods of its kind, {} are allowed by maxSkew {}", constraint.topology_key,
                       state.domains().topology->domain_names[domain], state.count(domain), state.limit(),
                       constraint.max_skew);
  }

  const StrategyContext& context_;
  const ClusterSnapshot& cluster_;
  NominationSink& sink_;
  const RemovePodsViolatingTopologySpreadConstraint::Args& args_;
  scheduling::CachedSelector in_scope_;
  Trial trial_;
  std::vector<NodeIndex> nodes_;
  SpreadDomainCache cache_;
  SpreadRules rules_;
  std::vector<bool> looked_at_;
  std::vector<bool> full_;  ///< nodes at their limit
  std::vector<bool> tried_;
  std::size_t hint_ = 0;
  bool stopped_ = false;
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
