#include "planner/strategies/placement/remove_duplicates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/lifetime/criteria.hpp"
#include "planner/strategies/listing.hpp"

namespace strategies {
namespace {

/// Like fmt::join, without the cost of formatting. Runs for every pod of the cluster.
std::string join(std::span<const std::string_view> parts, char separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string key_of(const api::Pod& pod, const api::OwnerReference& owner, std::string_view images) {
  return join(std::array<std::string_view, 4>{pod.meta.ns, owner.kind, owner.name, images}, '/');
}

/// Namespace, owner and images as one text per owner. Duplicates have equal keys.
std::vector<std::string> owner_keys(const api::Pod& pod) {
  std::vector<std::string_view> images;
  for (const api::Container& container : pod.containers) images.push_back(container.image);
  std::ranges::sort(images);
  const std::string joined = join(images, '#');
  std::vector<std::string> keys;
  for (const api::OwnerReference& owner : pod.meta.owner_references) {
    keys.push_back(key_of(pod, owner, joined));
  }
  return keys;
}

/// Signature of a pod: every owner with every image. Duplicates on one node have equal signatures.
std::string signature_of(const api::Pod& pod) {
  std::vector<std::string> parts;
  for (const api::OwnerReference& owner : pod.meta.owner_references) {
    for (const api::Container& container : pod.containers) {
      parts.push_back(key_of(pod, owner, container.image));
    }
  }
  if (parts.size() == 1) return std::move(parts.front());
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, "\n"));
}

/// All pods of one owner and images.
struct DuplicateSet {
  int occurrences = 0;                                                  ///< Including originals
  std::vector<std::pair<NodeIndex, std::vector<PodIndex>>> duplicates;  ///< Nodes in the order of the listing

  std::vector<PodIndex>& on(NodeIndex node) {
    if (duplicates.empty() || duplicates.back().first != node) duplicates.push_back({node, {}});
    return duplicates.back().second;
  }
};

/// Nodes that a pod's labels, affinity and tolerations allow, cached for pods with equal ones.
class AllowedNodes {
 public:
  explicit AllowedNodes(const StrategyContext& context) : context_(context) {}

  /// Invalid terms allow all nodes, as upstream does. Ignores resources and cordons. The result is valid until the
  /// next call.
  const std::vector<NodeIndex>& allowed_for(const api::Pod& pod) {
    const auto known = std::ranges::find_if(known_, [&](const Known& each) { return is_same(*each.pod, pod); });
    if (known != known_.end()) return known->nodes;
    if (known_.size() >= kMaxKnown) known_.clear();
    return known_.emplace_back(Known{&pod, nodes_for(pod)}).nodes;
  }

  static bool is_same(const api::Pod& a, const api::Pod& b) {
    return have_same_required_terms(a, b) && a.node_selector == b.node_selector && a.tolerations == b.tolerations;
  }

 private:
  struct Known {
    const api::Pod* pod;
    std::vector<NodeIndex> nodes;
  };
  static constexpr std::size_t kMaxKnown = 64;

  std::vector<NodeIndex> nodes_for(const api::Pod& pod) const {
    std::vector<NodeIndex> allowed;
    for (const NodeIndex node : context_.nodes) {
      const api::Node& object = context_.cluster.base().node(node);
      using enum api::TaintEffect;
      if (scheduling::first_untolerated(pod.tolerations, object.taints, {kNoSchedule, kNoExecute}) != nullptr) continue;
      if (scheduling::match_node_terms(pod, object) != scheduling::NodeTermsMatch::kNo) allowed.push_back(node);
    }
    return allowed;
  }

  const StrategyContext& context_;
  std::vector<Known> known_;
};

/// Number of nodes over which the set can be spread. Ignores pods that are restricted to one node.
std::size_t count_targets(const StrategyContext& context, AllowedNodes& allowed_nodes, const DuplicateSet& set) {
  std::vector<const api::Pod*> kinds;  // one pod of each kind
  for (const auto& [node, pods] : set.duplicates) {
    for (const PodIndex index : pods) {
      const api::Pod& pod = context.cluster.base().pod(index);
      const auto is_known = [&](const api::Pod* known) { return AllowedNodes::is_same(*known, pod); };
      if (std::ranges::none_of(kinds, is_known)) kinds.push_back(&pod);
    }
  }
  std::vector<bool> is_target(kinds.size() > 1 ? context.cluster.base().node_count() : 0, false);
  std::size_t count = 0;
  for (const api::Pod* pod : kinds) {
    const std::vector<NodeIndex>& allowed = allowed_nodes.allowed_for(*pod);
    if (allowed.size() < 2) continue;
    if (kinds.size() == 1) return allowed.size();
    for (const NodeIndex node : allowed) {
      if (!is_target[node]) ++count;
      is_target[node] = true;
    }
  }
  return count;
}

/// Offers what a node has above its share, and adds it to `judged`. False: stop.
bool offer_surplus(const StrategyContext& context, NominationSink& sink, AllowedNodes& allowed_nodes,
                   const DuplicateSet& set, std::unordered_set<PodIndex>& judged) {
  const std::size_t targets = count_targets(context, allowed_nodes, set);
  if (targets < 2) return true;
  const std::size_t share = (static_cast<std::size_t>(set.occurrences) + targets - 1) / targets;
  for (const auto& [node, pods] : set.duplicates) {
    if (pods.size() + 1 <= share) continue;
    const std::vector<PodIndex> surplus(pods.begin() + static_cast<std::ptrdiff_t>(share) - 1, pods.end());
    judged.insert(surplus.begin(), surplus.end());
    const std::string reason =
        fmt::format("{} pods of its owner and images are on its node, its share is {}", pods.size() + 1, share);
    if (!offer_all(sink, surplus, [&](PodIndex) { return reason; })) return false;
  }
  return true;
}

std::unordered_map<std::string, DuplicateSet> find_duplicates(const StrategyContext& context, NominationSink& sink,
                                                              const RemoveDuplicates& args) {
  const ClusterSnapshot& cluster = context.cluster.base();
  std::unordered_map<std::string, DuplicateSet> sets;
  auto in_scope = pods_in(args.scope, context);
  std::unordered_set<std::string> seen;
  for (const NodeIndex node : context.nodes) {
    seen.clear();
    for (const PodIndex pod : pods_on(context, node, PodStates::kActive)) {
      const api::Pod& object = cluster.pod(pod);
      if (object.meta.owner_references.empty() || has_owner_of_kind(object, args.exclude_owner_kinds)) continue;
      if (!in_scope(pod) || protection_refusal(context, sink, pod)) continue;
      if (context.evictability.refusal_before_eviction(pod, context.cluster)) continue;
      const bool is_duplicate = !seen.insert(signature_of(object)).second;
      for (const std::string& key : owner_keys(object)) {
        DuplicateSet& set = sets[key];
        ++set.occurrences;
        if (is_duplicate) set.on(node).push_back(pod);
      }
    }
  }
  return sets;
}

}  // namespace

std::unordered_set<PodIndex> spread_duplicates_upstream(const StrategyContext& context, NominationSink& sink,
                                                        const RemoveDuplicates& args) {
  const auto sets = find_duplicates(context, sink, args);
  using KeyedSet = std::pair<std::string_view, const DuplicateSet*>;
  std::vector<KeyedSet> in_order;
  for (const auto& [key, set] : sets) {
    if (!set.duplicates.empty()) in_order.emplace_back(key, &set);
  }
  std::ranges::sort(in_order, {}, &KeyedSet::first);
  AllowedNodes allowed_nodes(context);
  std::unordered_set<PodIndex> judged;
  for (const auto& [key, set] : in_order) {
    if (!offer_surplus(context, sink, allowed_nodes, *set, judged)) break;
  }
  return judged;
}

}  // namespace strategies
