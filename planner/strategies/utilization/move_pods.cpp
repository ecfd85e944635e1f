#include "planner/strategies/utilization/move_pods.hpp"

#include <algorithm>
#include <memory>

#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/eviction_order.hpp"
#include "planner/strategies/listing.hpp"

namespace strategies {
namespace {

using Amounts = std::vector<std::int64_t>;

/// Common part of both loops.
class SourceLoop {
 public:
  SourceLoop(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
             const std::vector<std::string>& resources, MoveRules rules)
      : context_(context), sink_(sink), usage_(usage), resources_(resources), rules_(std::move(rules)) {}
  SourceLoop(const SourceLoop&) = delete;
  SourceLoop& operator=(const SourceLoop&) = delete;
  virtual ~SourceLoop() = default;

  void run() {
    for (NodeUsage& node : rules_.sources) {
      if (!relieve(node)) return;
    }
  }

 protected:
  /// Takes pods from one node. Returns false if the cycle's total limit is reached.
  virtual bool relieve(NodeUsage& node) = 0;

  std::int64_t allowance_of(const NodeUsage& node, std::size_t r) const {
    if (!node.capacity[r]) return 0;
    const auto& percent = rules_.target_percent[r];
    return percent ? share_of(*node.capacity[r], *percent, resources_[r]) : *node.capacity[r];
  }
  bool is_above(const NodeUsage& node, std::size_t r) const { return node.used[r] > allowance_of(node, r); }

  bool is_at_limit(std::uint32_t evicted) const {
    return rules_.evictions_per_node && evicted >= *rules_.evictions_per_node;
  }
  /// If the effect of a move is unknown, one pod leaves, unless evictions_per_node is set.
  bool is_enough_if_unknown() const { return !usage_.has_pod_usage() && !rules_.evictions_per_node; }

  /// Returns nullopt if measured usage is missing, so that the pod is left alone.
  std::optional<Amounts> usage_of(PodIndex pod) const {
    Amounts used(resources_.size(), 0);
    if (!usage_.has_pod_usage()) return used;
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      const auto amount = usage_.of_pod(pod, resources_[r]);
      if (!amount) return std::nullopt;
      used[r] = *amount;
    }
    return used;
  }

  /// Returns the pods that `is_kept` does not keep, in the order of eviction.
  template <typename F>
  std::vector<PodIndex> movable_pods(const NodeUsage& node, F&& is_kept) const {
    std::vector<PodIndex> pods = pods_on(context_, node.node, PodStates::kActive);
    std::erase_if(pods, is_kept);
    sort_for_eviction(pods, context_.cluster.base());
    return pods;
  }

  const StrategyContext& context_;
  NominationSink& sink_;
  const UsageView& usage_;
  const std::vector<std::string>& resources_;
  MoveRules rules_;
};

class MoveLoop final : public SourceLoop {
 public:
  MoveLoop(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
           const std::vector<std::string>& resources, MoveRules rules)
      : SourceLoop(context, sink, usage, resources, std::move(rules)),
        what_if_(context),
        place_of_(context.cluster.base().node_count(), kNoPlace) {
    while (thresholds_ < resources.size() && rules_.target_percent[thresholds_]) ++thresholds_;
    for (std::size_t i = 0; i < rules_.destinations.size(); ++i) {
      const NodeUsage& node = rules_.destinations[i];
      place_of_[node.node] = i;
      for (std::size_t r = 0; r < resources_.size(); ++r) allowed_.push_back(allowance_of(node, r));
    }
  }

 private:
  static constexpr std::size_t kNoPlace = static_cast<std::size_t>(-1);

  bool is_above_target(const NodeUsage& node) const {
    for (std::size_t r = 0; r < thresholds_; ++r) {
      if (is_above(node, r)) return true;
    }
    return false;
  }

  /// Returns whether the pod uses a resource that is above its target. If usage of pods is unknown, every pod helps.
  bool helps(const NodeUsage& node, const Amounts& freed) const {
    if (!usage_.has_pod_usage()) return true;
    for (std::size_t r = 0; r < thresholds_; ++r) {
      if (freed[r] > 0 && is_above(node, r)) return true;
    }
    return false;
  }

  bool has_capacity(std::size_t place, const Amounts& wanted) const {
    const Amounts& used = rules_.destinations[place].used;
    const std::int64_t* const allowed = allowed_.data() + place * resources_.size();
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      if (wanted[r] > 0 && saturating_add(used[r], wanted[r]) > allowed[r]) return false;
    }
    return true;
  }

  bool is_kept(PodIndex pod) const {
    auto refusal = protection_refusal(context_, sink_, pod);
    if (!refusal) refusal = refusal_of_namespace(rules_.excluded_namespaces, context_.cluster.base().pod(pod));
    return is_refused(sink_, pod, refusal);
  }

  bool relieve(NodeUsage& node) override {
    std::uint32_t evicted = 0;
    for (const PodIndex pod : movable_pods(node, [this](PodIndex each) { return is_kept(each); })) {
      if (!is_above_target(node) || is_at_limit(evicted)) return true;
      const auto freed = usage_of(pod);
      if (!freed || !helps(node, *freed)) continue;
      const NominationResult result = offer(node, pod, *freed);
      if (result == NominationResult::kTotalLimit) return false;
      if (result == NominationResult::kNodeLimit) return true;
      if (result != NominationResult::kAccepted) continue;
      ++evicted;
      if (is_enough_if_unknown()) return true;
    }
    return true;
  }

  NominationResult offer(NodeUsage& node, PodIndex pod, const Amounts& freed) {
    if (is_refused(sink_, pod, last_protection_of(context_, sink_, pod))) return NominationResult::kRefused;
    const auto place = find_place(pod, freed);
    if (!place) {
      sink_.refused_because(pod,
                            {"NoDestinationHasCapacity", "no underutilized node accepts it and stays below its target"},
                            [&] { return why_no_place(pod, freed); });
      return NominationResult::kRefused;
    }
    const Goal goal = [&](NodeIndex to) { return place_of_[to] != kNoPlace && has_capacity(place_of_[to], freed); };
    const NominationResult result = sink_.offer_towards(pod, rules_.reason(node), goal);
    if (result == NominationResult::kAccepted) account(node, pod, freed, *place);
    return result;
  }

  void account(NodeUsage& node, PodIndex pod, const Amounts& freed, std::size_t expected) {
    const NodeIndex to = what_if_.place(pod, rules_.destinations[expected].node);
    const std::size_t place = place_of_[to] != kNoPlace ? place_of_[to] : expected;
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      node.used[r] = saturating_subtract(node.used[r], freed[r]);
      std::int64_t& there = rules_.destinations[place].used[r];
      there = saturating_add(there, freed[r]);
    }
  }

  /// Starts after the last destination, which spreads the load and avoids checking full nodes repeatedly.
  std::optional<std::size_t> find_place(PodIndex pod, const Amounts& wanted) {
    std::shared_ptr<const FitQuery> query;
    const auto found = find_around(rules_.destinations.size(), hint_, [&](std::size_t at) {
      if (!has_capacity(at, wanted)) return false;
      if (!query) query = what_if_.cluster().fit_query(pod, context_.evictability.fit_level());
      return query->fits(rules_.destinations[at].node);
    });
    if (found) hint_ = *found + 1;
    return found;
  }

  /// Lists the scheduler's rules before the target.
  std::string why_no_place(PodIndex pod, const Amounts& wanted) const {
    const auto query = what_if_.cluster().fit_query(pod, context_.evictability.fit_level());
    scheduling::Misfits misfits(context_.cluster.base());
    for (std::size_t at = 0; at < std::min(rules_.destinations.size(), scheduling::kMaxCheckedNodes); ++at) {
      const NodeIndex node = rules_.destinations[at].node;
      auto refusal = query->refusal_ignoring_capacity(node);
      if (!refusal) refusal = query->refusal(node);
      if (!refusal && has_capacity(at, wanted)) return {};
      misfits.add(node, refusal ? *refusal : Refusal{"AboveTarget", "it would exceed its target"});
    }
    return misfits.text();
  }

  std::size_t thresholds_ = 0;  ///< Number of resources that have a target
  StrategyWhatIf what_if_;
  std::vector<std::size_t> place_of_;  ///< By node: index among the destinations
  Amounts allowed_;                    ///< By destination and resource
  std::size_t hint_ = 0;
};

class UpstreamMoveLoop final : public SourceLoop {
 public:
  UpstreamMoveLoop(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                   const std::vector<std::string>& resources, MoveRules rules)
      : SourceLoop(context, sink, usage, resources, std::move(rules)), capacity_(resources.size(), 0) {
    std::vector<NodeIndex> destinations;
    for (const NodeUsage& node : rules_.destinations) {
      destinations.push_back(node.node);
      for (std::size_t r = 0; r < resources_.size(); ++r)
        capacity_[r] = saturating_add(capacity_[r], saturating_subtract(allowance_of(node, r), node.used[r]));
    }
    taints_ = DestinationTaints(context.cluster.base(), destinations);
  }

 private:
  bool goes_on(const NodeUsage& node) const {
    bool above = rules_.drain;
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      if (capacity_[r] <= 0) return false;
      above = above || is_above(node, r);
    }
    return above;
  }

  bool is_kept(PodIndex pod) const {
    return (rules_.wants && !rules_.wants(context_.cluster.base().pod(pod))) ||
           is_refused(sink_, pod, protection_refusal(context_, sink_, pod));
  }

  bool relieve(NodeUsage& node) override {
    const auto pods = movable_pods(node, [this](PodIndex each) { return is_kept(each); });
    if (!goes_on(node)) return true;
    const std::string reason = rules_.reason(node);
    std::uint32_t evicted = 0;
    for (const PodIndex pod : pods) {
      if (is_at_limit(evicted)) return true;
      if (is_refused(sink_, pod, objection_to(pod))) continue;
      const auto freed = usage_of(pod);
      if (!freed) continue;
      const NominationResult result = sink_.offer(pod, reason);
      if (result == NominationResult::kTotalLimit) return false;
      if (result == NominationResult::kNodeLimit) return true;
      if (result != NominationResult::kAccepted) continue;
      ++evicted;
      if (is_enough_if_unknown()) return true;
      if (!usage_.has_pod_usage()) continue;
      account(node, *freed);
      if (!goes_on(node)) return true;
    }
    return true;
  }

  std::optional<Refusal> objection_to(PodIndex pod) const {
    const api::Pod& object = context_.cluster.base().pod(pod);
    if (!taints_.accept(object))
      return Refusal{"NoDestinationTolerated", "it does not tolerate the taints of any node that has free capacity"};
    if (auto refusal = refusal_of_namespace(rules_.excluded_namespaces, object)) return refusal;
    return last_protection_of(context_, sink_, pod);
  }

  void account(NodeUsage& node, const Amounts& freed) {
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      node.used[r] = saturating_subtract(node.used[r], freed[r]);
      capacity_[r] = saturating_subtract(capacity_[r], freed[r]);
    }
  }

  DestinationTaints taints_{context_.cluster.base(), {}};
  Amounts capacity_;  ///< Free on all destinations, by resource
};

}  // namespace

void MoveRules::set_targets(const std::vector<double>& percents, std::size_t resources) {
  target_percent.assign(percents.begin(), percents.end());
  target_percent.resize(resources);
}

void move_pods(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
               const std::vector<std::string>& resources, MoveRules rules) {
  if (context.is_upstream()) return UpstreamMoveLoop(context, sink, usage, resources, std::move(rules)).run();
  MoveLoop(context, sink, usage, resources, std::move(rules)).run();
}

}  // namespace strategies
