#include "strategies/duplicates_spread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "scheduling/predicates.hpp"
#include "strategies/criteria.hpp"
#include "strategies/eviction_order.hpp"
#include "strategies/listing.hpp"

namespace strategies {
namespace {

using scheduling::ClusterSnapshot;

/// Pods of one owner with the same images.
struct Kin {
  PodIndex first;                                 ///< whose images they are
  std::map<NodeIndex, std::vector<PodIndex>> on;  ///< by node
  std::size_t count = 0;
};

const api::OwnerReference& main_owner(const api::Pod& pod) {
  const auto& owners = pod.meta.owner_references;
  const auto at = std::ranges::find(owners, true, &api::OwnerReference::controller);
  return at == owners.end() ? owners.front() : *at;
}

bool same_images(const api::Pod& a, const api::Pod& b) {
  if (std::ranges::equal(a.containers, b.containers, {}, &api::Container::image, &api::Container::image)) return true;
  return a.containers.size() == b.containers.size() &&
         std::ranges::is_permutation(a.containers, b.containers, {}, &api::Container::image, &api::Container::image);
}

class KinFinder {
 public:
  KinFinder(const Context& context, const RemoveDuplicates::Args& args) : base_(context.cluster.base()), args_(args) {
    for (const NodeIndex node : context.nodes) {
      context.cluster.for_each_on(node, [&](PodIndex pod) { take(pod, node); });
    }
  }
  std::vector<Kin>& all() { return all_; }

 private:
  void take(PodIndex pod, NodeIndex node) {
    const api::Pod& object = base_.pod(pod);
    if (!base_.is_active(pod) || object.meta.is_terminating() || object.meta.owner_references.empty()) return;
    if (has_owner_of_kind(object, args_.exclude_owner_kinds) || !args_.scope.includes(object)) return;
    Kin& kin = kin_of(pod, object);
    kin.on[node].push_back(pod);
    ++kin.count;
  }

  Kin& kin_of(PodIndex pod, const api::Pod& object) {
    const api::OwnerReference& owner = main_owner(object);
    const std::size_t hash = std::hash<std::string_view>{}(owner.uid.empty() ? owner.name : owner.uid) ^
                             (std::hash<std::string_view>{}(object.meta.ns) * 31);
    for (const std::uint32_t index : by_hash_[hash]) {
      if (is_kin(object, owner, base_.pod(all_[index].first))) return all_[index];
    }
    by_hash_[hash].push_back(static_cast<std::uint32_t>(all_.size()));
    return all_.emplace_back(Kin{pod, {}, 0});
  }

  static bool is_kin(const api::Pod& pod, const api::OwnerReference& owner, const api::Pod& other) {
    const api::OwnerReference& theirs = main_owner(other);
    return pod.meta.ns == other.meta.ns && owner.uid == theirs.uid && owner.kind == theirs.kind &&
           owner.name == theirs.name && owner.api_version == theirs.api_version && same_images(pod, other);
  }

  const ClusterSnapshot& base_;
  const RemoveDuplicates::Args& args_;
  std::vector<Kin> all_;
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> by_hash_;
};

/// Nodes where the scheduler could put the pod, room aside.
class TargetNodes {
 public:
  explicit TargetNodes(const Context& context) : context_(context) {}

  /// As many as a family of pods can be spread over.
  std::size_t count_for(const api::Pod& pod) {
    const bool is_plain = pod.node_selector.empty() && pod.tolerations.empty() && !pod.affinity;
    if (is_plain && plain_) return *plain_;
    const auto count = static_cast<std::size_t>(
        std::ranges::count_if(context_.nodes, [&](NodeIndex node) { return may_hold(pod, node); }));
    if (is_plain) plain_ = count;
    return count;
  }

  bool may_hold(const api::Pod& pod, NodeIndex node) const {
    const api::Node& object = context_.cluster.base().node(node);
    using enum api::TaintEffect;
    return !object.unschedulable && scheduling::accepts_pods(object) && scheduling::matches_node_terms(pod, object) &&
           scheduling::first_untolerated(pod.tolerations, object.taints, {kNoSchedule, kNoExecute}) == nullptr;
  }

 private:
  const Context& context_;
  std::optional<std::size_t> plain_;
};

class DuplicateSpreader {
 public:
  DuplicateSpreader(const Context& context, NominationSink& sink)
      : context_(context),
        sink_(sink),
        trial_(context.cluster),
        targets_(context),
        is_target_(context.cluster.base().node_count(), false) {
    for (const NodeIndex node : context.nodes) is_target_[node] = true;
  }

  /// False: stop.
  bool thin_out(Kin& kin) {
    const bool is_crowded = std::ranges::any_of(kin.on, [](const auto& each) { return each.second.size() > 1; });
    if (!is_crowded) return true;
    const std::size_t targets = targets_.count_for(context_.cluster.base().pod(kin.first));
    if (targets < 2) return true;
    const std::size_t share = (kin.count + targets - 1) / targets;
    std::unordered_map<NodeIndex, std::size_t> held;
    for (const auto& [node, pods] : kin.on) held[node] = pods.size();
    for (auto& [node, pods] : kin.on) {
      if (pods.size() > share && !relieve(node, pods, share, held)) return false;
    }
    return true;
  }

 private:
  bool relieve(NodeIndex node, std::vector<PodIndex> pods, std::size_t share,
               std::unordered_map<NodeIndex, std::size_t>& held) {
    const std::string reason =
        fmt::format("{} pods of its owner and images are on its node, its share is {}", pods.size(), share);
    const auto holds_less = [&](NodeIndex to) {
      const auto at = held.find(to);
      return is_target_[to] && (at == held.end() || at->second < share);
    };
    std::erase_if(pods, [&](PodIndex pod) { return context_.cluster.is_moved(pod); });
    sort_for_eviction(pods, context_.cluster.base());
    for (const PodIndex pod : pods) {
      if (held[node] <= share) return true;
      if (!may_leave(context_, sink_, pod)) continue;
      const auto target = find_target(pod, holds_less);
      if (!target) {
        sink_.refused(pod, {"NoOtherNodeFits", "it fits on no node that holds less than its share"});
        continue;
      }
      const Verdict verdict = sink_.offer_towards(pod, reason, holds_less);
      if (verdict == Verdict::kTotalLimit) return false;
      if (verdict == Verdict::kNodeLimit) return true;
      if (verdict != Verdict::kAccepted) continue;
      --held[node];
      const NodeIndex to = landing_of(context_, pod).value_or(*target);
      ++held[to];
      trial_.move(pod, to);
    }
    return true;
  }

  /// Begins where the last one was found, so that no node is asked again and again.
  std::optional<NodeIndex> find_target(PodIndex pod, const Goal& goal) {
    const scheduling::FitQuery query(trial_, pod, context_.evictability.fit_level());
    for (std::size_t i = 0; i < context_.nodes.size(); ++i) {
      const std::size_t at = (hint_ + i) % context_.nodes.size();
      if (!goal(context_.nodes[at]) || !query.fits(context_.nodes[at])) continue;
      hint_ = at + 1;
      return context_.nodes[at];
    }
    return std::nullopt;
  }

  const Context& context_;
  NominationSink& sink_;
  scheduling::Overlay trial_;  ///< the cluster with what was accepted, for sinks that do not foresee landings
  TargetNodes targets_;
  std::vector<bool> is_target_;
  std::size_t hint_ = 0;
};

}  // namespace

void spread_duplicates(const Context& context, NominationSink& sink, const RemoveDuplicates::Args& args) {
  KinFinder finder(context, args);
  DuplicateSpreader spreader(context, sink);
  for (Kin& kin : finder.all()) {
    if (!spreader.thin_out(kin)) return;
  }
}

}  // namespace strategies
