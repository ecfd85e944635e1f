#include "planner/strategies/placement/remove_pods_violating_inter_pod_anti_affinity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/eviction_order.hpp"
#include "planner/strategies/listing.hpp"

namespace strategies {
namespace {

/// A required anti-affinity term of pods of one kind, with the pods that it selects by topology domain. Pods of one
/// workload have the same affinity and therefore share the term.
struct SharedTerm {
  const api::PodAffinityTerm* term;
  const Topology* topology;
  std::unordered_map<std::uint32_t, std::vector<PodIndex>> owners;  ///< Pods with the term, by domain
  std::unordered_map<std::uint32_t, std::vector<PodIndex>> others;  ///< Pods that the term selects, by domain
};

class Conflicts {
 public:
  Conflicts(const StrategyContext& context, NominationSink& sink)
      : cluster_(context.cluster), base_(context.cluster.base()), gone_(base_.pod_table_size(), false) {
    for (const PodIndex pod : base_.pods()) {
      if (is_present(pod) && base_.pod(pod).affinity) take_terms(pod);
    }
    for (std::uint32_t i = 0; i < terms_.size(); ++i) {
      find_others(terms_[i], sink);
      note_parties(i);  // inside the time limit of the term's namespace
    }
  }

  /// Pods in a conflict, or possibly in one if their namespace has run out of time.
  std::vector<PodIndex> parties(NominationSink& sink) const {
    std::vector<PodIndex> pods;
    for (const auto& [pod, terms] : terms_of_) pods.push_back(pod);
    std::ranges::sort(pods);
    std::erase_if(pods, [&](PodIndex pod) { return !sink.is_out_of_time(pod) && conflict_of(pod) == kNoPod; });
    return pods;
  }

  /// Returns a remaining pod that conflicts with `pod`, or kNoPod.
  PodIndex conflict_of(PodIndex pod) const {
    const auto at = terms_of_.find(pod);
    if (at == terms_of_.end()) return kNoPod;
    for (const std::uint32_t i : at->second) {
      const SharedTerm& term = terms_[i];
      const std::uint32_t domain = domain_of(term, pod);
      if (domain == Topology::kNone) continue;
      const PodIndex excluded = is_in(term.owners, domain, pod) ? first_but(term.others, domain, pod) : kNoPod;
      if (excluded != kNoPod) return excluded;
      const PodIndex excluding = is_in(term.others, domain, pod) ? first_but(term.owners, domain, pod) : kNoPod;
      if (excluding != kNoPod) return excluding;
    }
    return kNoPod;
  }

  void remove(PodIndex pod) { gone_[pod] = true; }

 private:
  using ByDomain = std::unordered_map<std::uint32_t, std::vector<PodIndex>>;

  bool is_present(PodIndex pod) const {
    return base_.is_active(pod) && !cluster_.is_moved(pod) && base_.node_of(pod) != kNoNode;
  }
  std::uint32_t domain_of(const SharedTerm& term, PodIndex pod) const {
    return term.topology->domain_of[base_.node_of(pod)];
  }
  static bool is_in(const ByDomain& by_domain, std::uint32_t domain, PodIndex pod) {
    const auto at = by_domain.find(domain);
    return at != by_domain.end() && std::ranges::binary_search(at->second, pod);
  }
  PodIndex first_but(const ByDomain& by_domain, std::uint32_t domain, PodIndex pod) const {
    const auto at = by_domain.find(domain);
    if (at == by_domain.end()) return kNoPod;
    const auto found = std::ranges::find_if(at->second, [&](PodIndex other) { return other != pod && !gone_[other]; });
    return found == at->second.end() ? kNoPod : *found;
  }

  void take_terms(PodIndex pod) {
    const api::Pod& object = base_.pod(pod);
    for (const api::PodAffinityTerm& term : object.affinity->required_pod_anti_affinity) {
      if (!term.label_selector) continue;
      const bool looks_at_own_labels = !term.match_label_keys.empty() || !term.mismatch_label_keys.empty();
      const void* own_labels = looks_at_own_labels ? object.meta.labels.begin() : nullptr;
      const auto [at, added] = known_.try_emplace(std::tuple(&term, base_.namespace_of(pod), own_labels),
                                                  static_cast<std::uint32_t>(terms_.size()));
      if (added) {
        terms_.push_back({&term, &cluster_.topology(term.topology_key), {}, {}});
        first_owner_.push_back(pod);
      }
      const std::uint32_t domain = domain_of(terms_[at->second], pod);
      if (domain != Topology::kNone) terms_[at->second].owners[domain].push_back(pod);
    }
  }

  /// Only domains with a pod that has the term matter.
  void find_others(SharedTerm& term, NominationSink& sink) {
    const PodIndex owner = first_owner_[static_cast<std::size_t>(&term - terms_.data())];
    std::size_t& left = pairs_left_.try_emplace(base_.namespace_of(owner), kMaxPairs).first->second;
    if (left > 0 && !has_time_for(sink, owner)) left = 0;
    if (left == 0) return;
    for (NamespaceIndex ns = 0; ns < base_.namespace_count(); ++ns) {
      if (!may_cover(*term.term, owner, ns)) continue;
      const auto& labels = cluster_.selector_cache().labels_in(ns);
      labels.for_each_group(*term.term->label_selector, [&](const ClusterSnapshot::LabelGroup& group) {
        if (scheduling::covers(*term.term, owner, group.pods.front(), base_)) add_others(term, group.pods, left);
      });
    }
    for (auto& [domain, pods] : term.others) std::ranges::sort(pods);
  }

  void add_others(SharedTerm& term, const std::vector<PodIndex>& pods, std::size_t& left) const {
    for (const PodIndex pod : pods) {
      if (!is_present(pod) || left == 0) continue;
      const std::uint32_t domain = domain_of(term, pod);
      if (!term.owners.contains(domain)) continue;
      term.others[domain].push_back(pod);
      --left;
    }
  }

  /// Quick check without labels. A namespaceSelector is evaluated for each label group later.
  bool may_cover(const api::PodAffinityTerm& term, PodIndex owner, NamespaceIndex ns) const {
    if (term.namespace_selector) return true;
    if (term.namespaces.empty()) return ns == base_.namespace_of(owner);
    return std::ranges::find(term.namespaces, base_.namespace_name(ns)) != term.namespaces.end();
  }

  void note_parties(std::uint32_t index) {
    const SharedTerm& term = terms_[index];
    for (const auto& [domain, pods] : term.others) {
      for (const PodIndex pod : pods) terms_of_[pod].push_back(index);
      for (const PodIndex pod : term.owners.at(domain)) {
        auto& terms = terms_of_[pod];
        if (terms.empty() || terms.back() != index) terms.push_back(index);
      }
    }
  }

  /// Maximum number of pairs of a term and a pod for the terms of one namespace. Further conflicts are ignored,
  /// because they would exhaust the memory for planning other namespaces.
  static constexpr std::size_t kMaxPairs = std::size_t{1} << 22;

  const WhatIf& cluster_;
  const ClusterSnapshot& base_;
  std::vector<bool> gone_;
  std::unordered_map<NamespaceIndex, std::size_t> pairs_left_;  ///< By namespace of the pods with the term
  std::map<std::tuple<const api::PodAffinityTerm*, NamespaceIndex, const void*>, std::uint32_t> known_;
  std::vector<SharedTerm> terms_;
  std::vector<PodIndex> first_owner_;  ///< By term: pod whose namespace and labels are used to evaluate it
  std::unordered_map<PodIndex, std::vector<std::uint32_t>> terms_of_;
};

void resolve_anti_affinity(const StrategyContext& context, NominationSink& sink, const PodScope& scope) {
  const ClusterSnapshot& cluster = context.cluster.base();
  const std::vector<bool> looked_at = nodes_in_scope(context);
  Conflicts conflicts(context, sink);
  std::vector<PodIndex> pods = conflicts.parties(sink);
  auto in_scope = pods_in(scope, context);
  std::erase_if(pods, [&](PodIndex pod) { return !looked_at[cluster.node_of(pod)] || !in_scope(pod); });
  sort_for_eviction(pods, cluster);
  std::vector<bool> full(cluster.node_count(), false);
  for (const PodIndex pod : pods) {
    const NodeIndex node = cluster.node_of(pod);
    if (full[node] || !has_time_for(sink, pod)) continue;
    const PodIndex other = conflicts.conflict_of(pod);
    if (other == kNoPod || !may_leave(context, sink, pod)) continue;
    const api::ObjectMeta& meta = cluster.pod(other).meta;
    const auto reason = fmt::format("a required anti-affinity keeps it and {}/{} apart", meta.ns, meta.name);
    // The scheduler predicates ensure that the pod violates none on its new node. Its own node is no better while the
    // other pod is there.
    const NominationResult result = sink.offer_towards(pod, reason, [&](NodeIndex to) { return to != node; });
    if (result == NominationResult::kAccepted) conflicts.remove(pod);
    if (result == NominationResult::kNodeLimit) full[node] = true;
    if (result == NominationResult::kTotalLimit) return;
  }
}

}  // namespace

base::Status RemovePodsViolatingInterPodAntiAffinity::nominate(const StrategyContext& context,
                                                               NominationSink& sink) const {
  context.is_upstream() ? resolve_anti_affinity_upstream(context, sink, scope)
                        : resolve_anti_affinity(context, sink, scope);
  return base::Done{};
}

}  // namespace strategies
