#include "planner/strategies/spread/balance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <unordered_set>

#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/listing.hpp"
#include "planner/strategies/spread/rules.hpp"

namespace strategies {
namespace {

constexpr std::uint32_t kOutOfScope = 0xffffffff;

/// Pods of one domain in upstream's order. Victims are taken from the back.
using DomainPods = std::vector<PodIndex>;

/// Checks whether pods fit one of some nodes. Caches the node that took the last pod, which usually fits the next one
/// too, and results for pods with the same requirements.
class CapacityBelow {
 public:
  CapacityBelow(const WhatIf& cluster, std::vector<NodeIndex> nodes) : cluster_(cluster), nodes_(std::move(nodes)) {}

  bool fits(PodIndex pod) {
    const api::Pod& object = cluster_.base().pod(pod);
    const bool has_anti_affinity = object.affinity && !object.affinity->required_pod_anti_affinity.empty();
    if (has_anti_affinity) return fits_some_node(pod);  // the names of the pods on a node matter
    for (const auto& [other, fits] : known_) {
      if (asks_the_same(object, pod, other)) return fits;
    }
    if (known_.size() >= kMaxKnown) known_.clear();
    return known_.emplace_back(pod, fits_some_node(pod)).second;
  }

 private:
  bool asks_the_same(const api::Pod& object, PodIndex pod, PodIndex other) const {
    const ClusterSnapshot& base = cluster_.base();
    const api::Pod& known = base.pod(other);
    return &base.requests(pod) == &base.requests(other) && object.node_selector == known.node_selector &&
           object.tolerations == known.tolerations &&
           (object.affinity == known.affinity ||
            (object.affinity && known.affinity && *object.affinity == *known.affinity));
  }

  bool fits_some_node(PodIndex pod) {
    const auto found = scheduling::find_other_node(cluster_, pod, nodes_, FitLevel::kBasic, hint_);
    hint_ = found.value_or(hint_);
    return found.has_value();
  }

  const WhatIf& cluster_;
  std::vector<NodeIndex> nodes_;
  static constexpr std::size_t kMaxKnown = 64;  // entries are compared one by one

  std::size_t hint_ = 0;
  std::vector<std::pair<PodIndex, bool>> known_;
};

/// Sorts pinned pods first, then by ascending priority. Pods of equal priority are reversed, because upstream's
/// comparison returns "less" for them; pods without a priority keep their order.
void put_in_order(DomainPods& pods, const ClusterSnapshot& cluster) {
  using Key = std::tuple<bool, bool, std::int32_t, std::int64_t, PodIndex>;
  std::vector<Key> keys;
  keys.reserve(pods.size());
  for (const PodIndex index : pods) {
    const api::Pod& pod = cluster.pod(index);
    const bool is_pinned = !pod.node_selector.empty() || (pod.affinity && pod.affinity->has_node_affinity);
    const auto position = static_cast<std::int64_t>(keys.size());
    keys.emplace_back(!is_pinned, pod.priority.has_value(), pod.priority.value_or(0),
                      pod.priority ? -position : position, index);
  }
  std::ranges::sort(keys);
  std::ranges::transform(keys, pods.begin(), [](const Key& key) { return std::get<PodIndex>(key); });
}

class UpstreamSpread {
 public:
  UpstreamSpread(const StrategyContext& context, NominationSink& sink, const SpreadArgs& args)
      : context_(context),
        cluster_(context.cluster.base()),
        sink_(sink),
        args_(args),
        in_scope_(pods_in(args.scope, context)),
        cache_(context.cluster, context.nodes, false),
        position_(cluster_.node_count(), kOutOfScope),
        listed_(cluster_.pod_table_size()),
        chosen_(cluster_.pod_table_size(), false) {
    for (std::uint32_t i = 0; i < context.nodes.size(); ++i) position_[context.nodes[i]] = i;
  }

  void run() {
    for (NamespaceIndex ns = 0; ns < cluster_.namespace_count(); ++ns) {
      cache_.begin_namespace();
      if (collect_rules(ns) && !rules_.rules().empty()) apply_rules(context_.cluster.selector_cache().labels_in(ns));
    }
    offer_victims();
  }

 private:
  static constexpr std::size_t kCarriersPerQuestion = 64;  ///< number of pods with constraints between two time checks

  struct Victim {
    PodIndex pod;
    std::string reason;
  };

  /// Returns true if the pod is active, on a node in scope, in scope itself, and evictable. Only such pods are counted,
  /// and only their constraints apply.
  bool is_listed(PodIndex pod) {
    if (!listed_[pod]) listed_[pod] = would_list(pod);
    return *listed_[pod];
  }
  bool would_list(PodIndex pod) {
    const NodeIndex node = cluster_.node_of(pod);
    if (node == kNoNode || position_[node] == kOutOfScope) return false;
    return cluster_.is_active(pod) && !context_.cluster.is_moved(pod) && in_scope_(pod) &&
           !context_.evictability.refusal(pod);
  }

  /// Returns false if the time is used up; the namespace must then be skipped.
  bool collect_rules(NamespaceIndex ns) {
    rules_.clear();
    std::size_t carriers = 0;
    for (const PodIndex pod : cluster_.pods_in(ns)) {
      const api::Pod& object = cluster_.pod(pod);
      if (object.topology_spread.empty()) continue;
      if (carriers++ % kCarriersPerQuestion == 0 && !has_time_for(sink_, pod)) return false;
      if (!is_listed(pod)) continue;
      for (const api::TopologySpreadConstraint& constraint : object.topology_spread) {
        if (!(constraint.schedule_anyway ? args_.soft : args_.hard)) continue;
        if (!rules_.add(constraint, object, false)) sink_.refused(pod, kTooManySpreadRules);
      }
    }
    return true;
  }

  void apply_rules(const scheduling::NamespaceLabels& labels) {
    for (const SpreadRule& rule : rules_.rules()) {
      const PodIndex owner = cluster_.find_pod(rule.owner->meta.ns, rule.owner->meta.name).value();
      if (!has_time_for(sink_, owner)) return;
      cache_.takes_more() ? apply(rule, labels) : sink_.refused(owner, kTooManySpreadRules);
    }
  }

  void apply(const SpreadRule& rule, const scheduling::NamespaceLabels& labels) {
    const SpreadDomains& domains = cache_.domains_of(rule);
    std::vector<PodIndex> counted;
    std::size_t steps = domains.nodes.size() + labels.groups_compared(rule.selector);
    labels.for_each_match(rule.selector, [&](PodIndex pod) {
      ++steps;
      if (!is_listed(pod) || cluster_.pod(pod).meta.is_terminating()) return;
      if (domains.topology->domain_of[cluster_.node_of(pod)] != Topology::kNone) counted.push_back(pod);
    });
    cache_.note_steps(steps);
    if (is_balanced(rule, domains, counted)) return;
    const auto listing_order = [&](PodIndex pod) { return std::pair(position_[cluster_.node_of(pod)], pod); };
    std::ranges::sort(counted, {}, listing_order);
    std::vector<DomainPods> pods = divide(domains, counted);
    balance(rule, domains, counted.size(), pods);
  }

  bool is_balanced(const SpreadRule& rule, const SpreadDomains& domains, const std::vector<PodIndex>& counted) {
    count_.assign(domains.nodes.size(), 0);
    for (const PodIndex pod : counted) ++count_[domains.topology->domain_of[cluster_.node_of(pod)]];
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = 0;
    for (std::size_t domain = 0; domain < count_.size(); ++domain) {
      if (count_[domain] == 0 && domains.nodes[domain].empty()) continue;
      least = std::min(least, count_[domain]);
      most = std::max(most, count_[domain]);
    }
    return most == 0 || most - least <= rule.constraint->max_skew;
  }

  /// Returns the pods by domain, smallest domain first. A domain excluded by the inclusion policies counts if it has
  /// pods.
  std::vector<DomainPods> divide(const SpreadDomains& domains, const std::vector<PodIndex>& counted) {
    std::vector<DomainPods> by_domain(domains.nodes.size());
    for (const PodIndex pod : counted) by_domain[domains.topology->domain_of[cluster_.node_of(pod)]].push_back(pod);
    domain_.clear();
    for (std::uint32_t domain = 0; domain < by_domain.size(); ++domain) {
      if (!by_domain[domain].empty() || !domains.nodes[domain].empty()) domain_.push_back(domain);
    }
    std::ranges::stable_sort(domain_, {}, [&](std::uint32_t domain) { return by_domain[domain].size(); });
    std::vector<DomainPods> sorted;
    sorted.reserve(domain_.size());
    for (const std::uint32_t domain : domain_) {
      sorted.push_back(std::move(by_domain[domain]));
      put_in_order(sorted.back(), cluster_);
    }
    return sorted;
  }

  CapacityBelow capacity_below(const SpreadDomains& domains, const std::vector<DomainPods>& pods, double ideal) const {
    std::vector<NodeIndex> below;
    for (std::size_t i = 0; i < pods.size(); ++i) {
      if (static_cast<double>(pods[i].size()) >= ideal) continue;
      const std::vector<NodeIndex>& nodes = domains.nodes[domain_[i]];
      below.insert(below.end(), nodes.begin(), nodes.end());
    }
    return {context_.cluster, std::move(below)};
  }

  /// Balances with two indexes, one on small and one on large domains. A pod counts as moved even if it fits nowhere
  /// and stays. Domains are not sorted again.
  void balance(const SpreadRule& rule, const SpreadDomains& domains, std::size_t sum, std::vector<DomainPods>& pods) {
    const double ideal = static_cast<double>(sum) / static_cast<double>(pods.size());
    CapacityBelow capacity = capacity_below(domains, pods, ideal);
    const auto size = [&](std::size_t i) { return static_cast<double>(pods[i].size()); };
    std::size_t i = 0;
    std::size_t j = pods.size() - 1;
    while (i < j) {
      if (size(j) <= ideal) --j;
      const double skew = size(j) - size(i);
      const double excess = skew - rule.constraint->max_skew;
      const double move = std::min({std::ceil(size(j) - ideal), std::ceil(ideal - size(i)), std::ceil(excess / 2)});
      if (excess <= 0 || move <= 0) {
        ++i;
        continue;
      }
      take(rule, domains, capacity, pods, j, i, static_cast<std::size_t>(move));
    }
  }

  /// Returns false if the time is used up, because an offer of the pod would be refused.
  bool fits(CapacityBelow& capacity, PodIndex pod) { return !sink_.is_out_of_time(pod) && capacity.fits(pod); }

  void take(const SpreadRule& rule, const SpreadDomains& domains, CapacityBelow& capacity,
            std::vector<DomainPods>& pods, std::size_t from, std::size_t to, std::size_t count) {
    DomainPods& source = pods[from];
    const std::size_t before = source.size();
    const auto stays =
        std::stable_partition(source.begin(), source.end(), [&](PodIndex pod) { return !fits(capacity, pod); });
    for (std::size_t k = before - count; k < before; ++k) {
      const auto at = source.begin() + static_cast<std::ptrdiff_t>(k);
      if (args_.node_fit && at < stays) continue;
      if (chosen_[*at]) continue;
      chosen_[*at] = true;
      victims_.push_back({*at, describe(rule, domains, from, before, pods[to].size())});
    }
    pods[to].insert(pods[to].end(), source.end() - static_cast<std::ptrdiff_t>(count), source.end());
    source.resize(before - count);
  }

  std::string describe(const SpreadRule& rule, const SpreadDomains& domains, std::size_t from, std::size_t most,
                       std::size_t least) const {
    return fmt::format("{} {} contains {} pods of its kind, another {}; the allowed skew is {}",
                       rule.constraint->topology_key, domains.topology->domain_names[domain_[from]], most, least,
                       rule.constraint->max_skew);
  }

  void offer_victims() {
    const auto listing_order = [&](const Victim& victim) {
      return std::pair(position_[cluster_.node_of(victim.pod)], victim.pod);
    };
    std::ranges::sort(victims_, {}, listing_order);
    std::unordered_set<NodeIndex> full;
    for (const Victim& victim : victims_) {
      const NodeIndex node = cluster_.node_of(victim.pod);
      if (full.contains(node)) continue;
      if (is_refused(sink_, victim.pod, last_protection_of(context_, sink_, victim.pod))) continue;
      const NominationResult result = sink_.offer(victim.pod, victim.reason);
      if (result == NominationResult::kTotalLimit) return;
      if (result == NominationResult::kNodeLimit) full.insert(node);
    }
  }

  const StrategyContext& context_;
  const ClusterSnapshot& cluster_;
  NominationSink& sink_;
  const SpreadArgs& args_;
  scheduling::CachedSelector in_scope_;
  SpreadDomainCache cache_;
  SpreadRules rules_;
  std::vector<std::uint32_t> position_;  ///< position of each node in the listing
  std::vector<std::optional<bool>> listed_;
  std::vector<bool> chosen_;
  std::vector<std::int64_t> count_;    ///< current rule: pods per domain
  std::vector<std::uint32_t> domain_;  ///< current rule: domain of the i-th smallest entry
  std::vector<Victim> victims_;
};

}  // namespace

void balance_upstream(const StrategyContext& context, NominationSink& sink, const SpreadArgs& args) {
  UpstreamSpread(context, sink, args).run();
}

}  // namespace strategies
