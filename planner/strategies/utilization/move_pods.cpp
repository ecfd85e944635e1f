#include "planner/strategies/utilization/move_pods.hpp"

#include <algorithm>
#include <memory>

#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/eviction_order.hpp"
#include "planner/strategies/listing.hpp"
#include "planner/strategies/strategy_what_if.hpp"

namespace strategies {
namespace {

using scheduling::saturating_add;
using scheduling::saturating_subtract;

class MoveLoop {
 public:
  MoveLoop(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
           const std::vector<std::string>& resources, std::size_t thresholds, MoveRules rules)
      : context_(context),
        sink_(sink),
        usage_(usage),
        resources_(resources),
        thresholds_(thresholds),
        rules_(std::move(rules)),
        what_if_(context),
        place_of_(context.cluster.base().node_count(), kNoPlace) {
    for (std::size_t i = 0; i < rules_.destinations.size(); ++i) {
      const NodeUsage& node = rules_.destinations[i];
      place_of_[node.node] = i;
      for (std::size_t r = 0; r < resources_.size(); ++r) allowed_.push_back(allowance_of(node, r));
    }
  }

  void run() {
    for (NodeUsage& node : rules_.sources) {
      if (!relieve(node)) return;
    }
  }

 private:
  static constexpr std::size_t kNoPlace = static_cast<std::size_t>(-1);
  using Amounts = std::vector<std::int64_t>;

  std::int64_t allowance_of(const NodeUsage& node, std::size_t r) const {
    if (!node.capacity[r]) return 0;
    const auto& percent = rules_.target_percent[r];
    return percent ? share_of(*node.capacity[r], *percent, resources_[r]) : *node.capacity[r];
  }
  bool is_above(const NodeUsage& node, std::size_t r) const { return node.used[r] > allowance_of(node, r); }

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

  std::optional<Amounts> usage_of_pod(PodIndex pod) const {
    Amounts used(resources_.size(), 0);
    if (!usage_.has_pod_usage()) return used;
    for (std::size_t r = 0; r < resources_.size(); ++r) {
      const auto amount = usage_.of_pod(pod, resources_[r]);
      if (!amount) return std::nullopt;
      used[r] = *amount;
    }
    return used;
  }

  std::vector<PodIndex> movable_pods(const NodeUsage& node) const {
    std::vector<PodIndex> pods = pods_on(context_, node.node, PodStates::kActive);
    std::erase_if(pods, [&](PodIndex pod) {
      const auto& ns = context_.cluster.base().pod(pod).meta.ns;
      auto refusal = protection_refusal(context_, sink_, pod);
      if (!refusal && std::ranges::find(rules_.excluded_namespaces, ns) != rules_.excluded_namespaces.end()) {
        refusal = {"NamespaceExcluded", "evictableNamespaces excludes the namespace {subject}", ns};
      }
      if (refusal) sink_.refused(pod, *refusal);
      return refusal.has_value();
    });
    sort_for_eviction(pods, context_.cluster.base());
    return pods;
  }

  /// Returns false if the cycle's total limit is reached.
  bool relieve(NodeUsage& node) {
    std::uint32_t evicted = 0;
    for (const PodIndex pod : movable_pods(node)) {
      if (!is_above_target(node) || (rules_.evictions_per_node && evicted >= *rules_.evictions_per_node)) return true;
      const auto freed = usage_of_pod(pod);
      if (!freed || !helps(node, *freed)) continue;
      const NominationResult result = offer(node, pod, *freed);
      if (result == NominationResult::kTotalLimit) return false;
      if (result == NominationResult::kNodeLimit) return true;
      if (result != NominationResult::kAccepted) continue;
      ++evicted;
      if (!usage_.has_pod_usage() && !rules_.evictions_per_node) return true;  // unknown effect: one pod
    }
    return true;
  }

  NominationResult offer(NodeUsage& node, PodIndex pod, const Amounts& freed) {
    if (const auto refusal = last_protection_of(context_, sink_, pod)) {
      sink_.refused(pod, *refusal);
      return NominationResult::kRefused;
    }
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
    std::shared_ptr<const scheduling::FitQuery> query;
    const std::size_t count = rules_.destinations.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = (hint_ + i) % count;
      if (!has_capacity(at, wanted)) continue;
      if (!query) query = what_if_.cluster().fit_query(pod, context_.evictability.fit_level());
      if (!query->fits(rules_.destinations[at].node)) continue;
      hint_ = at + 1;
      return at;
    }
    return std::nullopt;
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
      misfits.add(node, refusal ? *refusal : scheduling::Refusal{"AboveTarget", "it would exceed its target"});
    }
    return misfits.text();
  }

  const StrategyContext& context_;
  NominationSink& sink_;
  const UsageView& usage_;
  const std::vector<std::string>& resources_;
  std::size_t thresholds_;
  MoveRules rules_;
  StrategyWhatIf what_if_;
  std::vector<std::size_t> place_of_;  ///< By node: index among the destinations
  Amounts allowed_;                    ///< By destination and resource
  std::size_t hint_ = 0;
};

}  // namespace

void move_pods(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
               const std::vector<std::string>& resources, std::size_t thresholds, MoveRules rules) {
  MoveLoop(context, sink, usage, resources, thresholds, std::move(rules)).run();
}

}  // namespace strategies
