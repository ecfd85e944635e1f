#include "planner/strategies/utilization/consolidation.hpp"

#include <algorithm>

#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/eviction_order.hpp"
#include "planner/strategies/listing.hpp"
#include "planner/strategies/load/move_cost.hpp"

namespace strategies {
namespace {

class Consolidation {
 public:
  Consolidation(const StrategyContext& context, NominationSink& sink, const ConsolidationRules& rules)
      : context_(context),
        sink_(sink),
        rules_(rules),
        what_if_(context.cluster),
        may_take_pods_(context.cluster.base().node_count(), false),
        received_pods_(context.cluster.base().node_count(), false) {
    // The fullest first: others in order, then the sources in reverse.
    order_ = rules.others;
    order_.insert(order_.end(), rules.sources.rbegin(), rules.sources.rend());
    std::erase_if(order_, [&](NodeIndex node) { return context.cluster.base().node(node).unschedulable; });
    for (const NodeIndex node : order_) may_take_pods_[node] = true;
  }

  void run() {
    if (!rules_.taint.empty() && sink_.plan().avoid(rules_.taint, {})) return run_tainted();
    for (const NodeIndex source : rules_.sources) {
      if (!may_be_emptied(source) || received_pods_[source]) continue;
      may_take_pods_[source] = false;  // from here on neither this node nor emptier ones take pods
      if (!empty(source)) return;
    }
  }

 private:
  /// Determines all nodes that can be emptied before moving pods, so that the taint keeps the scheduler off all of
  /// them and off empty nodes. Nodes that stay take pods.
  void run_tainted() {
    std::vector<NodeIndex> closed = choose();
    const std::vector<NodeIndex> chosen = closed;
    for (const NodeIndex source : rules_.sources) {
      if (pods_to_move(source).empty()) closed.push_back(source);
    }
    sink_.plan().avoid(rules_.taint, closed);
    for (const NodeIndex node : closed) may_take_pods_[node] = false;
    for (const NodeIndex node : chosen) {
      if (!empty(node)) return;
    }
  }

  /// Returns the nodes that run() would empty if the scheduler followed the plan.
  std::vector<NodeIndex> choose() {
    std::vector<NodeIndex> chosen;
    std::vector<std::pair<PodIndex, NodeIndex>> placed;
    for (const NodeIndex source : rules_.sources) {
      if (received_pods_[source] || !may_be_emptied(source)) continue;
      may_take_pods_[source] = false;
      const std::vector<PodIndex> pods = pods_to_move(source);
      std::vector<NodeIndex> places;
      if (pods.empty() || !place_all(pods, places)) continue;
      chosen.push_back(source);
      for (std::size_t i = 0; i < pods.size(); ++i) placed.emplace_back(pods[i], places[i]);
      for (const NodeIndex to : places) received_pods_[to] = true;
    }
    for (const auto& [pod, place] : placed) take_back(pod, place);
    received_pods_.assign(received_pods_.size(), false);
    for (const NodeIndex node : order_) may_take_pods_[node] = true;
    return chosen;
  }

  /// Returns false and reports the refusal if emptying the node gains nothing.
  bool may_be_emptied(NodeIndex source) {
    const auto objection = context_.evictability.refusal_to_empty(source);
    if (!objection) return true;
    const std::vector<PodIndex> pods = pods_to_move(source);
    if (!pods.empty()) sink_.refused(pods.front(), *objection);
    return false;
  }

  /// Excludes pods that belong to their node and pods that are leaving.
  std::vector<PodIndex> pods_to_move(NodeIndex source) const {
    std::vector<PodIndex> pods = pods_on(context_, source, PodStates::kActive);
    std::erase_if(pods, [&](PodIndex pod) { return is_node_bound(context_.cluster.base(), pod); });
    sort_for_eviction(pods, context_.cluster.base());
    return pods;
  }

  /// Returns false if the cycle's total limit is reached.
  bool empty(NodeIndex source) {
    const std::vector<PodIndex> pods = pods_to_move(source);
    std::vector<NodeIndex> places;
    if (!place_all(pods, places)) return true;
    return offer_all_of(source, pods, places);
  }

  /// Places all pods in the WhatIf. If a pod must stay, reports it, undoes all moves and returns false.
  bool place_all(const std::vector<PodIndex>& pods, std::vector<NodeIndex>& places) {
    for (const PodIndex pod : pods) {
      auto refusal = objection_to(pod);
      const auto place = refusal ? std::nullopt : find_place(pod);
      if (refusal || !place) {
        const auto& no_place = Refusal{"NodeCannotBeEmptied", "no destination node accepts it, so its node stays"};
        sink_.refused_because(pod, refusal.value_or(no_place),
                              [&] { return refusal ? std::string() : why_no_place(pod); });
        for (std::size_t i = 0; i < places.size(); ++i) take_back(pods[i], places[i]);
        return false;
      }
      settle(pod, *place);
      places.push_back(*place);
    }
    return true;
  }

  void settle(PodIndex pod, NodeIndex to) {
    if (rules_.load != nullptr) rules_.load->move(pod, context_.cluster.base().node_of(pod), to);
    what_if_.move(pod, to);
  }
  void take_back(PodIndex pod, NodeIndex from) {
    if (rules_.load != nullptr) rules_.load->move(pod, from, context_.cluster.base().node_of(pod));
    what_if_.restore(pod);
  }

  bool has_capacity_for_load(PodIndex pod, NodeIndex node) const {
    if (rules_.load == nullptr) return true;
    for (std::size_t r = 0; r < rules_.max_percent.size(); ++r) {
      const auto share = rules_.load->share(pod, node, r);
      if (!share || rules_.load->percent(node, r) + *share > rules_.max_percent[r]) return false;
    }
    return true;
  }

  std::optional<Refusal> objection_to(PodIndex pod) const {
    const api::Pod& object = context_.cluster.base().pod(pod);
    if (rules_.wants && !rules_.wants(object)) {
      return Refusal{"NodeCannotBeEmptied", "evictionModes excludes it, so its node cannot be emptied completely"};
    }
    if (auto refusal = refusal_of_namespace(rules_.excluded_namespaces, object)) return refusal;
    if (auto refusal = protection_refusal(context_, sink_, pod)) return refusal;
    return context_.evictability.refusal_before_eviction(pod, context_.cluster);
  }

  /// Starts at the last destination, because the fuller nodes before it are full or nearly full.
  std::optional<NodeIndex> find_place(PodIndex pod) {
    const FitQuery query(what_if_, pod, context_.evictability.fit_level());
    const auto at = find_around(order_.size(), hint_, [&](std::size_t i) {
      return may_take_pods_[order_[i]] && has_capacity_for_load(pod, order_[i]) && query.fits(order_[i]);
    });
    if (!at) return std::nullopt;
    return order_[hint_ = *at];
  }

  /// REQUIRES: the previous pods of the node are at their planned places.
  std::string why_no_place(PodIndex pod) const {
    const FitQuery query(what_if_, pod, context_.evictability.fit_level());
    scheduling::Misfits misfits(context_.cluster.base());
    for (const NodeIndex node : context_.nodes) {
      if (node == context_.cluster.base().node_of(pod) || misfits.nodes() == scheduling::kMaxCheckedNodes) continue;
      auto refusal = query.refusal_ignoring_capacity(node);
      if (!refusal && !may_take_pods_[node]) refusal = Refusal{"NodeTakesNoPods", "the node itself is to be emptied"};
      if (!refusal) refusal = query.refusal(node);
      if (!refusal && !has_capacity_for_load(pod, node)) refusal = Refusal{"AboveTarget", "its load would be too high"};
      if (refusal) misfits.add(node, *refusal);
    }
    return misfits.text();
  }

  bool offer_all_of(NodeIndex source, const std::vector<PodIndex>& pods, const std::vector<NodeIndex>& places) {
    // places[] proves that the load fits.
    const Goal goal = [&](NodeIndex to) { return to != source && may_take_pods_[to]; };
    const NominationResult result = sink_.offer_whole(pods, std::string(kEmptiedWhole), goal);
    if (result != NominationResult::kAccepted) {
      for (std::size_t i = 0; i < pods.size(); ++i) take_back(pods[i], places[i]);
      return result != NominationResult::kTotalLimit;
    }
    for (std::size_t i = 0; i < pods.size(); ++i) {
      const NodeIndex to = placement_of(context_, pods[i]).value_or(places[i]);
      take_back(pods[i], places[i]);
      settle(pods[i], to);
      received_pods_[to] = true;
    }
    return true;
  }

  const StrategyContext& context_;
  NominationSink& sink_;
  const ConsolidationRules& rules_;
  WhatIf what_if_;                   ///< Cluster with all moves so far
  std::vector<NodeIndex> order_;     ///< Possible destinations, the fullest first
  std::size_t hint_ = 0;             ///< Index in order_ of the last destination
  std::vector<bool> may_take_pods_;  ///< By node: may take pods now
  std::vector<bool> received_pods_;  ///< By node: has received pods
};

}  // namespace

void consolidate(const StrategyContext& context, NominationSink& sink, const ConsolidationRules& rules) {
  Consolidation(context, sink, rules).run();
}

}  // namespace strategies
