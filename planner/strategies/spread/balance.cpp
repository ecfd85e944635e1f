#include "planner/strategies/spread/balance.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <unordered_map>

#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/listing.hpp"
#include "planner/strategies/spread/component.hpp"
#include "planner/strategies/spread/state.hpp"
#include "planner/strategies/uneven_counts.hpp"

namespace strategies {
namespace {

/// Spread state of the current namespace.
struct NamespaceSpread {
  std::deque<SpreadState> states;              ///< components point to the elements
  std::vector<std::vector<PodIndex>> members;  ///< indexed by state: counted pods, in order
  std::vector<std::int64_t> pending;           ///< indexed by state: pods that will be counted but have no node yet
};

/// Groups rules that count the same pods.
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

/// Merges groups that share a pod into components.
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
  SpreadBalancer(const StrategyContext& context, NominationSink& sink, const SpreadArgs& args)
      : context_(context),
        cluster_(context.cluster.base()),
        args_(args),
        run_{context,
             sink,
             args,
             pods_in(args.scope, context),
             StrategyWhatIf(context),
             nodes_in_scope(context),
             std::vector<bool>(cluster_.node_count(), false)},
        nodes_(cluster_.nodes().begin(), cluster_.nodes().end()),
        cache_(context.cluster, nodes_, true) {}

  void run() {
    reports_ = true;
    for_each_namespace([this](NamespaceSpread& spread) {
      add_to(before_, spread);
      for (SpreadComponent& component : components_of(spread)) {
        keep_within_bound(component);
        if (run_.is_stopped || component.empty()) continue;
        const PodIndex first = component.front().pods.front();
        if (strategies::has_time_for(run_.sink, first)) even_out(run_, component);
      }
      add_to(after_, spread);
    });
    report_counts(kCountsByDomain, before_, after_, run_.sink);
  }

  /// Counts without moving pods. Returns nullopt if a namespace was skipped for lack of time.
  std::optional<UnevenCounts> count() {
    for_each_namespace([this](const NamespaceSpread& spread) { add_to(before_, spread); });
    return is_complete_ ? std::make_optional(before_) : std::nullopt;
  }

 private:
  static constexpr std::size_t kMaxVertices = std::size_t{1} << 18;  ///< per component; takes 90 MB
  static constexpr std::size_t kCarriersPerQuestion = 64;  ///< number of pods with constraints between two time checks

  /// Calls `each` for every namespace whose time is not used up.
  template <typename F>
  void for_each_namespace(F&& each) {
    for (NamespaceIndex ns = 0; ns < cluster_.namespace_count(); ++ns) {
      cache_.begin_namespace();
      if (!collect_rules(ns) || rules_.rules().empty()) continue;
      if (auto spread = count_pods(ns)) each(*spread);
    }
  }

  /// Returns false if the time is used up; the pod's namespace must then be skipped.
  bool has_time_for(PodIndex pod) {
    if (!run_.sink.is_out_of_time(pod)) return true;
    if (reports_) run_.sink.refused(pod, kCycleTimeout);
    return is_complete_ = false;
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

  /// Returns true if the scheduler counts the pod: bound, neither terminal nor terminating.
  bool is_counted(PodIndex pod) const { return node_of(pod) != kNoNode && cluster_.is_staying(pod); }

  bool waits_for_node(PodIndex pod) const { return node_of(pod) == kNoNode && cluster_.is_staying(pod); }

  /// Returns false if the time is used up.
  bool collect_rules(NamespaceIndex ns) {
    rules_.clear();
    std::size_t carriers = 0;
    for (const PodIndex pod : cluster_.pods_in(ns)) {
      if (cluster_.pod(pod).topology_spread.empty() || !is_counted(pod)) continue;
      if (carriers++ % kCarriersPerQuestion == 0 && !has_time_for(pod)) return false;
      if (run_.in_scope(pod)) add_rules_of(pod);
    }
    return true;
  }

  void add_rules_of(PodIndex pod) {
    const api::Pod& object = cluster_.pod(pod);
    bool fit_all = true;
    for (const api::TopologySpreadConstraint& constraint : object.topology_spread) {
      if (!(constraint.schedule_anyway ? args_.soft : args_.hard)) continue;
      if (scheduling::asks_for_pods(constraint, object)) fit_all = rules_.add(constraint, object, true) && fit_all;
    }
    if (!fit_all) report_ignored(pod);
  }

  void report_ignored(PodIndex pod) {
    if (reports_) run_.sink.refused(pod, kTooManySpreadRules);
  }

  /// Drops rules so that the trees of a component, which have a vertex per domain of each rule, stay within
  /// kMaxVertices.
  void keep_within_bound(SpreadComponent& component) {
    std::size_t left = kMaxVertices;
    for (SpreadMembers& members : component) {
      const std::size_t dropped = std::erase_if(members.states, [&](const SpreadState* state) {
        const std::size_t vertices = state->domains().open.size();
        if (vertices > left) return true;
        left -= vertices;
        return false;
      });
      if (dropped > 0) report_ignored(members.pods.front());
    }
    std::erase_if(component, [](const SpreadMembers& members) { return members.states.empty(); });
  }

  /// Returns nullopt if the time is used up.
  std::optional<NamespaceSpread> count_pods(NamespaceIndex ns) {
    NamespaceSpread spread;
    const auto& labels = context_.cluster.selector_cache().labels_in(ns);
    for (const SpreadRule& rule : rules_.rules()) {
      const PodIndex owner = cluster_.find_pod(rule.owner->meta.ns, rule.owner->meta.name).value();
      if (!has_time_for(owner)) return std::nullopt;
      cache_.takes_more() ? count_pods_of(rule, labels, spread) : report_ignored(owner);
    }
    return spread;
  }

  void count_pods_of(const SpreadRule& rule, const scheduling::NamespaceLabels& labels, NamespaceSpread& spread) {
    const SpreadDomains& domains = cache_.domains_of(rule);
    SpreadState& state = spread.states.emplace_back(rule, domains);
    std::vector<PodIndex>& members = spread.members.emplace_back();
    spread.pending.push_back(0);
    std::size_t steps = domains.nodes.size() + labels.groups_compared(rule.selector);
    labels.for_each_match(rule.selector, [&](PodIndex pod) {
      ++steps;
      if (waits_for_node(pod)) ++spread.pending.back();
      if (!is_counted(pod)) return;
      state.add(node_of(pod));
      members.push_back(pod);
    });
    cache_.note_steps(steps);
    state.seal();
    std::ranges::sort(members);
  }

  const StrategyContext& context_;
  const ClusterSnapshot& cluster_;
  const SpreadArgs& args_;
  SpreadRun run_;
  std::vector<NodeIndex> nodes_;
  SpreadDomainCache cache_;
  SpreadRules rules_;
  bool reports_ = false;     ///< whether to report pods whose constraints are ignored
  bool is_complete_ = true;  ///< false if a namespace was skipped
  UnevenCounts before_{context_.nodes.size()};
  UnevenCounts after_ = before_;
};

}  // namespace

void balance(const StrategyContext& context, NominationSink& sink, const SpreadArgs& args) {
  SpreadBalancer(context, sink, args).run();
}

std::optional<UnevenCounts> count_by_domain(const StrategyContext& context, NominationSink& sink,
                                            const SpreadArgs& args) {
  return SpreadBalancer(context, sink, args).count();
}

}  // namespace strategies
