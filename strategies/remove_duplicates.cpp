#include "strategies/remove_duplicates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "scheduling/predicates.hpp"
#include "strategies/criteria.hpp"
#include "strategies/duplicates_spread.hpp"
#include "strategies/listing.hpp"

namespace strategies {
namespace {

using scheduling::ClusterSnapshot;

/// Namespace, owner and images as one text: who is a duplicate of whom.
std::vector<std::string> owner_keys(const api::Pod& pod) {
  std::vector<std::string_view> images;
  for (const api::Container& container : pod.containers) images.push_back(container.image);
  std::ranges::sort(images);
  const std::string joined = fmt::format("{}", fmt::join(images, "#"));
  std::vector<std::string> keys;
  for (const api::OwnerReference& owner : pod.meta.owner_references) {
    keys.push_back(fmt::format("{}/{}/{}/{}", pod.meta.ns, owner.kind, owner.name, joined));
  }
  return keys;
}

/// What must be equal for two pods of a node to be duplicates: every owner with every image.
std::string signature_of(const api::Pod& pod) {
  std::vector<std::string> parts;
  for (const api::OwnerReference& owner : pod.meta.owner_references) {
    for (const api::Container& container : pod.containers) {
      parts.push_back(fmt::format("{}/{}/{}/{}", pod.meta.ns, owner.kind, owner.name, container.image));
    }
  }
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, "\n"));
}

/// All pods of one owner and images.
struct Family {
  int occurrences = 0;                                                  ///< originals included
  std::vector<std::pair<NodeIndex, std::vector<PodIndex>>> duplicates;  ///< nodes in the order looked at

  std::vector<PodIndex>& on(NodeIndex node) {
    if (duplicates.empty() || duplicates.back().first != node) duplicates.push_back({node, {}});
    return duplicates.back().second;
  }
};

bool is_same_for_placement(const api::Pod& a, const api::Pod& b) {
  const bool same_affinity = a.affinity == b.affinity || (a.affinity && b.affinity && *a.affinity == *b.affinity);
  return same_affinity && a.node_selector == b.node_selector && a.tolerations == b.tolerations;
}

/// Nodes that the pod's labels, affinity and tolerations allow; terms that do not parse allow all, as upstream has it.
/// Resources and cordons are not looked at.
std::vector<NodeIndex> allowed_nodes(const Context& context, const api::Pod& pod) {
  std::vector<NodeIndex> allowed;
  for (const NodeIndex node : context.nodes) {
    const api::Node& object = context.cluster.base().node(node);
    using enum api::TaintEffect;
    if (scheduling::first_untolerated(pod.tolerations, object.taints, {kNoSchedule, kNoExecute}) != nullptr) continue;
    if (scheduling::match_node_terms(pod, object) != scheduling::NodeTermsMatch::kNo) allowed.push_back(node);
  }
  return allowed;
}

/// How many nodes the family can be spread over. A pod that is bound to one node says nothing.
std::size_t count_targets(const Context& context, const Family& family) {
  std::set<NodeIndex> targets;
  std::vector<const api::Pod*> asked;
  for (const auto& [node, pods] : family.duplicates) {
    for (const PodIndex index : pods) {
      const api::Pod& pod = context.cluster.base().pod(index);
      const auto is_known = [&](const api::Pod* known) { return is_same_for_placement(*known, pod); };
      if (std::ranges::any_of(asked, is_known)) continue;
      asked.push_back(&pod);
      const auto allowed = allowed_nodes(context, pod);
      if (allowed.size() > 1) targets.insert(allowed.begin(), allowed.end());
    }
  }
  return targets.size();
}

/// Offers what a node has above its share. False: stop.
bool thin_out(const Context& context, NominationSink& sink, const Family& family) {
  const std::size_t targets = count_targets(context, family);
  if (targets < 2) return true;
  const std::size_t share = (static_cast<std::size_t>(family.occurrences) + targets - 1) / targets;
  for (const auto& [node, pods] : family.duplicates) {
    if (pods.size() + 1 <= share) continue;
    const std::vector<PodIndex> surplus(pods.begin() + static_cast<std::ptrdiff_t>(share) - 1, pods.end());
    const std::string reason =
        fmt::format("{} pods of its owner and images are on its node, its share is {}", pods.size() + 1, share);
    if (!offer_all(sink, surplus, [&](PodIndex) { return reason; })) return false;
  }
  return true;
}

}  // namespace

RemoveDuplicates::Args RemoveDuplicates::Args::read(api::StrictObject& args) {
  Args parsed;
  parsed.scope = read_scope(args);
  args.read("excludeOwnerKinds", parsed.exclude_owner_kinds);
  return parsed;
}

base::Status RemoveDuplicates::nominate(const Context& context, NominationSink& sink) const {
  if (!context.is_upstream()) {
    spread_duplicates(context, sink, args_);
    return base::Done{};
  }
  const ClusterSnapshot& cluster = context.cluster.base();
  std::map<std::string, Family> families;
  for (const NodeIndex node : context.nodes) {
    std::set<std::string> seen;
    for (const PodIndex pod : pods_on(context, node, PodStates::kActive)) {
      const api::Pod& object = cluster.pod(pod);
      if (object.meta.owner_references.empty() || has_owner_of_kind(object, args_.exclude_owner_kinds)) continue;
      if (!args_.scope.includes(object) || context.evictability.refusal(pod)) continue;
      if (context.evictability.refusal_before_eviction(pod, context.cluster)) continue;
      const bool is_duplicate = !seen.insert(signature_of(object)).second;
      for (const std::string& key : owner_keys(object)) {
        Family& family = families[key];
        ++family.occurrences;
        if (is_duplicate) family.on(node).push_back(pod);
      }
    }
  }
  for (const auto& [key, family] : families) {
    if (!family.duplicates.empty() && !thin_out(context, sink, family)) break;
  }
  return base::Done{};
}

}  // namespace strategies
