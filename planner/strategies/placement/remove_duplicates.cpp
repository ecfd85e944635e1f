#include "planner/strategies/placement/remove_duplicates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "planner/scheduling/predicates.hpp"
#include "planner/snapshot/matching.hpp"
#include "planner/strategies/eviction_order.hpp"
#include "planner/strategies/lifetime/criteria.hpp"
#include "planner/strategies/listing.hpp"

namespace strategies {
namespace {

/// A pod and its node before the strategy's first offer.
struct Placed {
  PodIndex pod;
  NodeIndex node;
};

/// Pods of one owner with the same images, ordered by node.
using DuplicateSpan = std::span<const Placed>;

const api::OwnerReference& main_owner(const api::Pod& pod) {
  const auto& owners = pod.meta.owner_references;
  const auto at = std::ranges::find(owners, true, &api::OwnerReference::controller);
  return at == owners.end() ? owners.front() : *at;
}

/// Groups pods into sets of duplicates, in the order of their first pods.
class DuplicateFinder {
 public:
  DuplicateFinder(const StrategyContext& context, const RemoveDuplicates& args)
      : base_(context.cluster.base()), args_(args), in_scope_(pods_in(args.scope, context)) {
    taken_.reserve(base_.pod_count());
    last_of_owner_.resize(base_.owner_count(), kNone);
    for (const NodeIndex node : context.nodes) {
      context.cluster.for_each_on(node, [&](PodIndex pod) { take({pod, node}); });
    }
    sort_by_set();
  }

  template <typename F>
  void for_each_set(F&& each) const {
    std::size_t first = 0;
    for (const Entry& set : sets_) {
      each(DuplicateSpan(pods_).subspan(first, set.count));
      first += set.count;
    }
  }

 private:
  struct Entry {
    PodIndex first;  ///< Pod with the owner and images of the set
    std::uint32_t count = 0;
    std::uint32_t next = kNone;  ///< Next set of the same owner
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  /// Avoids reading objects if indexes are sufficient, because that dominates the cost in large clusters.
  void take(Placed placed) {
    if (!base_.is_staying(placed.pod) || !in_scope_(placed.pod) || !base_.owner_of(placed.pod)) return;
    const auto& excluded = args_.exclude_owner_kinds;
    if (!excluded.empty() && has_owner_of_kind(base_.pod(placed.pod), excluded)) return;
    const std::uint32_t set = set_of(placed.pod);
    ++sets_[set].count;
    taken_.emplace_back(set, placed);
  }

  std::uint32_t set_of(PodIndex pod) {
    std::uint32_t& last = last_of_owner_.at(owner_number(pod));
    for (std::uint32_t index = last; index != kNone; index = sets_[index].next) {
      const PodIndex other = sets_[index].first;
      if (base_.namespace_of(pod) == base_.namespace_of(other) && base_.images_of(pod) == base_.images_of(other))
        return index;
    }
    sets_.push_back({pod, 0, last});
    return last = static_cast<std::uint32_t>(sets_.size() - 1);
  }

  /// By UID. Owners without UID are distinguished by API version, kind and name, and numbered after all others.
  std::size_t owner_number(PodIndex pod) {
    if (const auto known = base_.main_owner_of(pod)) return *known;
    const api::OwnerReference& owner = main_owner(base_.pod(pod));
    const auto added = last_of_owner_.size();
    const auto [at, is_new] = nameless_.try_emplace(owner.api_version + "/" + owner.kind + "/" + owner.name, added);
    if (is_new) last_of_owner_.push_back(kNone);
    return at->second;
  }

  /// Counting sort: keeps the order of nodes within a set.
  void sort_by_set() {
    std::vector<std::size_t> next(sets_.size() + 1, 0);
    for (std::size_t set = 0; set < sets_.size(); ++set) next[set + 1] = next[set] + sets_[set].count;
    pods_.resize(taken_.size());
    for (const auto& [set, placed] : taken_) pods_[next[set]++] = placed;
  }

  const ClusterSnapshot& base_;
  const RemoveDuplicates& args_;
  scheduling::CachedSelector in_scope_;
  std::vector<Entry> sets_;
  std::vector<std::uint32_t> last_of_owner_;               ///< By owner: the set found last
  std::unordered_map<std::string, std::size_t> nameless_;  ///< Owners without UID
  std::vector<std::pair<std::uint32_t, Placed>> taken_;    ///< With the index of its set
  std::vector<Placed> pods_;
};

/// Nodes that the scheduler would accept for a pod, ignoring free capacity.
class TargetNodes {
 public:
  explicit TargetNodes(const StrategyContext& context) : context_(context) {}

  /// Number of nodes over which a set of duplicates can be spread.
  std::size_t count_for(const api::Pod& pod) {
    const bool is_plain = !scheduling::asks_for_nodes(pod) && pod.tolerations.empty();
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
  const StrategyContext& context_;
  std::optional<std::size_t> plain_;
};

/// Number of pods of one set per node.
class PodCounts {
 public:
  explicit PodCounts(std::size_t nodes) : pods_(nodes, 0) {}

  void clear() {
    for (const NodeIndex node : touched_) pods_[node] = 0;
    touched_.clear();
  }
  void add(NodeIndex node, std::size_t pods) {
    touched_.push_back(node);
    pods_[node] += pods;
  }
  void take(NodeIndex node) { --pods_[node]; }
  std::size_t on(NodeIndex node) const { return pods_[node]; }
  void add_to(UnevenCounts& counts, std::size_t share) {
    std::ranges::sort(touched_);
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const NodeIndex node : touched_)
      counts.add(static_cast<std::int64_t>(pods_[node]), static_cast<std::int64_t>(share));
  }

 private:
  std::vector<std::size_t> pods_;   ///< By node
  std::vector<NodeIndex> touched_;  ///< All nodes with pods, possibly others
};

class DuplicateSpreader {
 public:
  DuplicateSpreader(const StrategyContext& context, NominationSink& sink)
      : context_(context),
        sink_(sink),
        what_if_(context),
        targets_(context),
        is_target_(nodes_in_scope(context)),
        held_(context.cluster.base().node_count()) {}

  /// Counts only, once a limit has stopped it.
  void offer_surplus(DuplicateSpan set) {
    const Share share = count(set);
    if (share.has_no_choice && !stopped_) refuse_all(set);
    if (share.is_kept) return;
    held_.clear();
    for_each_node(set, [&](DuplicateSpan pods) { return held_.add(pods.front().node, pods.size()), true; });
    held_.add_to(before_, share.most);
    stopped_ = stopped_ || !for_each_node(set, [&](DuplicateSpan pods) {
                 return pods.size() <= share.most || relieve(pods, share.most);
               });
    held_.add_to(after_, share.most);
  }

  /// Counts the set without offering pods. With `judged`, the pods that the sink has judged, reports what keeps the
  /// others on nodes that hold more than their share.
  void count_only(DuplicateSpan set, const std::unordered_set<PodIndex>* judged) {
    const auto is_reported = [&](const Placed& each) { return judged != nullptr && !judged->contains(each.pod); };
    const Share share = count(set);
    if (share.has_no_choice && std::ranges::all_of(set, is_reported)) refuse_all(set);
    if (share.is_kept) return;
    for_each_node(set, [&](DuplicateSpan pods) {
      before_.add(static_cast<std::int64_t>(pods.size()), static_cast<std::int64_t>(share.most));
      if (pods.size() <= share.most) return true;
      for (const Placed& each : pods) {
        if (is_reported(each) && !context_.cluster.is_moved(each.pod)) may_leave(context_, sink_, each.pod);
      }
      return true;
    });
  }

  const UnevenCounts& before() const { return before_; }
  const UnevenCounts& after() const { return after_; }

 private:
  /// Maximum number of pods of a set per node.
  struct Share {
    std::size_t most = 0;
    bool is_kept = true;         ///< No node has more
    bool has_no_choice = false;  ///< Some pods share a node, and at most one node may take them
  };

  /// Begins the set's group in the counts.
  Share count(DuplicateSpan set) {
    std::size_t most = 0;
    for_each_node(set, [&](DuplicateSpan pods) { return most = std::max(most, pods.size()), true; });
    const std::size_t targets = most < 2 ? 0 : targets_.count_for(context_.cluster.base().pod(set.front().pod));
    const double mean = static_cast<double>(set.size()) / static_cast<double>(std::max<std::size_t>(targets, 1));
    for (UnevenCounts* const counts : {&before_, &after_}) counts->begin_group(mean);
    if (targets < 2) return {most, true, most > 1};
    const std::size_t share = (set.size() + targets - 1) / targets;
    return {share, most <= share};
  }

  /// Calls `each` with the pods of each node until it returns false. Returns false if it did.
  template <typename F>
  bool for_each_node(DuplicateSpan set, F&& each) const {
    while (!set.empty()) {
      const auto is_elsewhere = [here = set.front().node](const Placed& pod) { return pod.node != here; };
      const auto count = static_cast<std::size_t>(std::ranges::find_if(set, is_elsewhere) - set.begin());
      if (!each(set.first(count))) return false;
      set = set.subspan(count);
    }
    return true;
  }

  /// Reports duplicates that only their own node accepts. A cluster with one node has no duplicates to move.
  void refuse_all(DuplicateSpan set) {
    if (context_.cluster.base().nodes().size() < 2) return;
    for_each_node(set, [&](DuplicateSpan pods) {
      if (pods.size() > 1 && !has_other_target(pods.front())) refuse_here(pods);
      return true;
    });
  }

  bool has_other_target(const Placed& placed) const {
    const api::Pod& pod = context_.cluster.base().pod(placed.pod);
    return std::ranges::any_of(context_.nodes,
                               [&](NodeIndex to) { return to != placed.node && targets_.may_hold(pod, to); });
  }

  void refuse_here(DuplicateSpan pods) {
    const auto count = static_cast<std::int64_t>(pods.size());
    for (const Placed& each : pods) {
      if (context_.cluster.is_moved(each.pod) || !may_leave(context_, sink_, each.pod)) continue;
      sink_.refused_because(
          each.pod,
          {"NoOtherNodeFits", "{wanted} pods of its owner and images are on its node, and no other node can run one",
           "", count},
          [&] { return why_on_none_of(context_, what_if_.cluster(), each.pod, [](NodeIndex) { return true; }); });
    }
  }

  /// Returns false to stop.
  bool relieve(DuplicateSpan pods_here, std::size_t share) {
    const NodeIndex node = pods_here.front().node;
    const auto reason = [&] {
      return fmt::format("{} pods of its owner and images are on its node, its share is {}", pods_here.size(), share);
    };
    const auto holds_less = [&](NodeIndex to) { return is_target_[to] && held_.on(to) < share; };
    std::vector<PodIndex> pods;
    for (const Placed& each : pods_here) {
      if (!context_.cluster.is_moved(each.pod)) pods.push_back(each.pod);
    }
    sort_for_eviction(pods, context_.cluster.base());
    for (const PodIndex pod : pods) {
      if (held_.on(node) <= share) return true;
      if (!may_leave(context_, sink_, pod)) continue;
      const auto target = find_target(pod, holds_less);
      if (!target) {
        sink_.refused_because(pod, {"NoOtherNodeFits", "it does not fit on any node that runs less than its share"},
                              [&] {
                                const auto level = context_.evictability.fit_level();
                                return scheduling::misfits_of(what_if_.cluster(), pod, level, holds_less).text();
                              });
        continue;
      }
      const NominationResult result = sink_.offer_towards(pod, reason(), holds_less);
      if (result == NominationResult::kTotalLimit) return false;
      if (result == NominationResult::kNodeLimit) return true;
      if (result != NominationResult::kAccepted) continue;
      held_.take(node);
      held_.add(what_if_.place(pod, *target), 1);
    }
    return true;
  }

  /// Starts after the last destination, so that full nodes are not checked again for each pod.
  std::optional<NodeIndex> find_target(PodIndex pod, const Goal& goal) {
    const auto query = what_if_.cluster().fit_query(pod, context_.evictability.fit_level());
    const auto takes = [&](std::size_t i) { return goal(context_.nodes[i]) && query->fits(context_.nodes[i]); };
    const auto at = find_around(context_.nodes.size(), hint_, takes);
    if (!at) return std::nullopt;
    hint_ = *at + 1;
    return context_.nodes[*at];
  }

  const StrategyContext& context_;
  NominationSink& sink_;
  StrategyWhatIf what_if_;
  TargetNodes targets_;
  std::vector<bool> is_target_;
  PodCounts held_;  ///< For the current set
  std::size_t hint_ = 0;
  bool stopped_ = false;
  UnevenCounts before_{context_.nodes.size()};
  UnevenCounts after_ = before_;
};

/// Counts the imbalance without offering pods. See DuplicateSpreader::count_only().
UnevenCounts count_duplicates(const StrategyContext& context, NominationSink& sink, const RemoveDuplicates& args,
                              const std::unordered_set<PodIndex>* judged = nullptr) {
  DuplicateSpreader spreader(context, sink);
  DuplicateFinder(context, args).for_each_set([&](DuplicateSpan set) { spreader.count_only(set, judged); });
  return spreader.before();
}

}  // namespace

RemoveDuplicates RemoveDuplicates::read(api::StrictObject& args) {
  RemoveDuplicates parsed;
  parsed.scope = read_scope(args);
  args.read("excludeOwnerKinds", parsed.exclude_owner_kinds);
  return parsed;
}

/// Moves pods from nodes with more than their share to nodes with less. Counts all active pods of the owner. Cordoned
/// and unready nodes are no destinations. The lowest priority leaves first, and each pod is nominated at most once.
base::Status RemoveDuplicates::nominate(const StrategyContext& context, NominationSink& sink) const {
  if (context.is_upstream()) {
    const UnevenCounts before = count_duplicates(context, sink, *this);
    const auto judged = spread_duplicates_upstream(context, sink, *this);
    report_counts(kCountsOfDuplicates, before, count_duplicates(as_expected(context, sink), sink, *this, &judged),
                  sink);
    return base::Done{};
  }
  DuplicateSpreader spreader(context, sink);
  DuplicateFinder(context, *this).for_each_set([&](DuplicateSpan set) { spreader.offer_surplus(set); });
  report_counts(kCountsOfDuplicates, spreader.before(), spreader.after(), sink);
  return base::Done{};
}

}  // namespace strategies
