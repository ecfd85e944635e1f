#include "planner/strategies/spread/component.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>

#include "planner/scheduling/predicates.hpp"
#include "planner/strategies/eviction_order.hpp"
#include "planner/strategies/listing.hpp"
#include "planner/strategies/spread/spread_group.hpp"

namespace strategies {
namespace {

constexpr std::size_t kMaxSlots = 256;  ///< maximum slots tried for one move

const Refusal kNowhereBetter{"NoDomainHasCapacity", "no node where it would improve its constraints accepts it"};

bool has_hard_rules(const api::Pod& pod) {
  return std::ranges::any_of(pod.topology_spread,
                             [](const api::TopologySpreadConstraint& each) { return !each.schedule_anyway; });
}

/// Interchangeable pods: on the same node, with the same eviction rank, counted by the same groups.
struct Slot {
  NodeIndex node;
  EvictionRank rank;
  std::vector<std::uint32_t> groups;
  std::vector<PodIndex> pods;  ///< the last one leaves next
};

class ComponentMoves {
 public:
  ComponentMoves(SpreadRun& run, const SpreadComponent& component)
      : run_(run),
        cluster_(run.context.cluster.base()),
        helps_(cluster_.node_count()),
        first_pod_(component.front().pods.front()) {
    find_slots(component);
    for (std::uint32_t i = 0; i < component.size(); ++i) {
      // If more capacity is expected, pending pods are assumed to be placed where they should be.
      groups_.emplace_back(component[i].states, node_pods(component[i], i),
                           run.args.node_fit ? 0 : component[i].pending);
    }
  }

  void run() {
    run_.sink.plan().defer_disagreements([this](const Refusal& refusal) { disagreement_ = refusal; });
    move_pods();
    run_.sink.plan().defer_disagreements({});
    if (!is_over() && !disagreements_.empty() && is_violated()) {
      relax();
      move_pods();
    }
    for (const Disagreement& each : disagreements_) run_.sink.refused(each.pod, each.refusal);
    if (!is_over()) report_stuck();
  }

 private:
  enum class Outcome { kMoved, kKept, kNowhere, kUnneeded };
  /// A pod that the strict pass could not move because the scheduler prefers a node that does not help.
  struct Disagreement {
    Slot* slot;
    PodIndex pod;
    Refusal refusal;
  };
  /// For whom the filter is to have a node after a move. What the first one refuses is tried again with the second one.
  enum class Openness { kForFurtherPods, kForOwnPods };

  void move_pods() {
    while (!is_over()) {
      if (!(has_moves() && (advance(Openness::kForFurtherPods) || advance(Openness::kForOwnPods))) && !reconsider())
        break;
    }
  }

  /// Begins the relaxed pass. It judges the pods in `disagreements_` anew, so its refusals replace theirs.
  void relax() {
    is_relaxed_ = true;
    for (auto each = disagreements_.rbegin(); each != disagreements_.rend(); ++each) {
      each->slot->pods.push_back(each->pod);
      for (const std::uint32_t group : each->slot->groups) groups_[group].release(each->slot->node);
    }
    disagreements_.clear();
    is_plan_outdated_ = true;
    reconsider();
  }

  bool is_violated() const {
    return std::ranges::any_of(groups_, [](const SpreadGroup& each) { return each.excess() > 0; });
  }

  /// A limit lets no further pod go.
  bool is_over() const { return run_.is_stopped || is_namespace_full_; }
  bool has_moves() const {
    return std::ranges::any_of(groups_, [](const SpreadGroup& each) { return each.has_moves(); });
  }

  NodeIndex node_of(PodIndex pod) const { return run_.context.cluster.node_of(pod); }
  bool is_candidate(PodIndex pod) const {
    const NodeIndex node = node_of(pod);
    return run_.looked_at[node] && !run_.full[node] && !run_.context.cluster.is_moved(pod) && run_.in_scope(pod);
  }

  void find_slots(const SpreadComponent& component) {
    std::unordered_map<PodIndex, std::vector<std::uint32_t>> groups_of;
    for (std::uint32_t i = 0; i < component.size(); ++i) {
      for (const PodIndex pod : component[i].pods) {
        if (is_candidate(pod)) groups_of[pod].push_back(i);
      }
    }
    std::vector<PodIndex> pods;
    for (const auto& [pod, groups] : groups_of) pods.push_back(pod);
    std::ranges::sort(pods, std::ranges::greater{});
    std::map<std::tuple<bool, EvictionRank, NodeIndex, std::vector<std::uint32_t>>, std::uint32_t> known;
    for (const PodIndex pod : pods) {
      const bool is_protected = run_.context.evictability.refusal(pod).has_value();
      const EvictionRank rank = eviction_rank(cluster_.pod(pod));
      std::vector<Slot>& slots = is_protected ? protected_ : slots_;
      const auto [at, is_new] = known.emplace(std::tuple(is_protected, rank, node_of(pod), groups_of.at(pod)),
                                              static_cast<std::uint32_t>(slots.size()));
      if (is_new) slots.push_back({node_of(pod), rank, groups_of.at(pod), {}});
      slots[at->second].pods.push_back(pod);
    }
  }

  std::vector<NodePods> node_pods(const SpreadMembers& members, std::uint32_t group) const {
    std::vector<NodePods> nodes = pods_and_capacity(run_.context, members, run_.args.node_fit);
    for (const Slot& slot : slots_) {
      const bool is_counted = std::ranges::find(slot.groups, group) != slot.groups.end();
      if (is_counted) nodes[slot.node].movable += static_cast<std::int64_t>(slot.pods.size());
    }
    return nodes;
  }

  // --- One move

  /// Moves one pod, or finds one that must stay. Returns false if no pod can be moved.
  bool advance(Openness openness) {
    openness_ = openness;
    if (!has_time_for(run_.sink, first_pod_)) {
      is_namespace_full_ = true;
      return true;
    }
    std::vector<std::pair<SpreadCounts, std::uint32_t>> order;  // fullness and slot
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
      const Slot& slot = slots_[i];
      if (!slot.pods.empty() && !run_.full[slot.node]) order.emplace_back(counts_at(slot, slot.node), i);
    }
    const auto comes_later = [&](const auto& a, const auto& b) {
      const EvictionRank& first = slots_[a.second].rank;
      const EvictionRank& second = slots_[b.second].rank;
      if (first != second) return second < first;
      if (a.first != b.first) return a.first < b.first;
      return slots_[b.second].node < slots_[a.second].node;
    };
    std::ranges::make_heap(order, comes_later);
    bool some_stay = false;
    for (std::size_t tried = 0; !order.empty() && tried < kMaxSlots; order.pop_back()) {
      std::ranges::pop_heap(order, comes_later);
      const Outcome outcome = advance(slots_[order.back().second]);
      if (outcome == Outcome::kMoved || is_over()) return true;
      if (outcome == Outcome::kNowhere) ++tried;
      some_stay = some_stay || outcome == Outcome::kKept;
    }
    return some_stay;
  }

  /// Moves the first pod of the slot that may leave. Returns kKept if all tried pods must stay, kUnneeded if none was
  /// tried.
  Outcome advance(Slot& slot) {
    Outcome outcome = Outcome::kUnneeded;
    while (!slot.pods.empty() && !run_.full[slot.node] && !is_over() && comes_nearer_without(slot)) {
      outcome = try_to_move(slot);
      if (outcome != Outcome::kKept) return outcome;
    }
    return outcome;
  }

  SpreadCounts counts_at(const Slot& slot, NodeIndex node) const {
    SpreadCounts counts{};
    auto at = counts.begin();
    for (const std::uint32_t group : slot.groups) at = groups_[group].copy_counts(node, at, counts.end());
    return counts;
  }

  SpreadDistance distance_of(const Slot& slot) const {
    SpreadDistance distance;
    for (const std::uint32_t group : slot.groups) distance += groups_[group].distance();
    return distance;
  }
  std::int64_t excess_of(const Slot& slot) const {
    std::int64_t excess = 0;
    for (const std::uint32_t group : slot.groups) excess += groups_[group].excess();
    return excess;
  }
  bool comes_nearer_without(const Slot& slot) const {
    SpreadDistance without;
    for (const std::uint32_t group : slot.groups) without += groups_[group].distance_if_taken(slot.node);
    return without < distance_of(slot);
  }

  Outcome try_to_move(Slot& slot) {
    const PodIndex pod = slot.pods.back();
    const std::string reason = describe(slot);
    begin_move(slot, pod);
    for (const std::uint32_t group : slot.groups) take(groups_[group], slot.node);
    const auto nodes = cluster_.nodes();
    if (std::ranges::none_of(nodes, [&](NodeIndex node) { return helps(slot, node); })) {
      return give_back(slot), Outcome::kNowhere;
    }
    if (!may_leave(run_.context, run_.sink, pod)) return stay(slot);
    const auto target = find_target(slot, pod);
    if (!target) {
      run_.sink.refused_because(pod, kNowhereBetter, [&] { return why_not_better(slot, pod); });
      return stay(slot);
    }
    return offer(slot, pod, reason, *target);
  }

  Outcome offer(Slot& slot, PodIndex pod, const std::string& reason, NodeIndex target) {
    const Goal goal = [&](NodeIndex node) { return helps(slot, node); };
    disagreement_.reset();
    const NominationResult result =
        run_.args.node_fit ? run_.sink.offer_towards(pod, reason, goal) : run_.sink.offer_anyway(pod, reason, goal);
    run_.is_stopped = result == NominationResult::kTotalLimit;
    is_namespace_full_ = result == NominationResult::kNamespaceLimit;
    if (result == NominationResult::kNodeLimit) fill(slot.node);
    if (disagreement_) disagreements_.push_back({&slot, pod, *disagreement_});
    if (result != NominationResult::kAccepted) return stay(slot);
    const NodeIndex to = run_.what_if.place(pod, target);
    for (const std::uint32_t group : slot.groups) groups_[group].put(to);
    slot.pods.pop_back();
    return Outcome::kMoved;
  }

  static void take(SpreadGroup& group, NodeIndex node) {
    group.keep(node);
    group.remove(node);
  }
  void give_back(const Slot& slot) {
    for (const std::uint32_t group : slot.groups) {
      groups_[group].put(slot.node);
      groups_[group].release(slot.node);
    }
  }
  Outcome stay(Slot& slot) {
    give_back(slot);
    keep_last(slot);
    return Outcome::kKept;
  }
  void keep_last(Slot& slot) {
    for (const std::uint32_t group : slot.groups) groups_[group].keep(slot.node);
    slot.pods.pop_back();
    is_plan_outdated_ = true;
  }
  /// Marks the node as full: none of its remaining pods may leave. The current pod is not counted as movable.
  void fill(NodeIndex node) {
    run_.full[node] = true;
    is_plan_outdated_ = true;
  }

  // --- Choice of the target

  void begin_move(const Slot& slot, PodIndex pod) {
    is_filtered_ = has_hard_rules(cluster_.pod(pod));
    was_open_ = !is_filtered_ || has_open_node(slot);
    before_ = distance_of(slot);
    excess_before_ = excess_of(slot);
    helps_.assign(helps_.size(), std::nullopt);
  }

  bool helps(const Slot& slot, NodeIndex node) {
    if (!helps_[node]) helps_[node] = would_help(slot, node);
    return *helps_[node];
  }
  bool would_help(const Slot& slot, NodeIndex node) {
    if (!takes(slot, node)) return false;
    SpreadDistance after;
    for (const std::uint32_t group : slot.groups) after += groups_[group].distance_if_put(node);
    const bool is_nearer = after < before_ || (is_relaxed_ && after == before_ && lowers_excess(slot, node));
    return is_nearer && (!was_open_ || !is_filtered_ || stays_open(slot, node));
  }
  /// A move that the scheduler prefers may leave the distance as it is. Requiring fewer pods above limits keeps such
  /// moves from going round in circles.
  bool lowers_excess(const Slot& slot, NodeIndex node) {
    for (const std::uint32_t group : slot.groups) groups_[group].put(node);
    const std::int64_t excess = excess_of(slot);
    for (const std::uint32_t group : slot.groups) groups_[group].remove(node);
    return excess < excess_before_;
  }
  bool takes(const Slot& slot, NodeIndex node) const {
    return std::ranges::all_of(slot.groups, [&](std::uint32_t group) {
      return groups_[group].node(node).room > 0 && (!is_filtered_ || groups_[group].lets_in(node));
    });
  }
  /// Returns true if the filter still accepts a node for pods of the workload after the pod has moved to `node`.
  bool stays_open(const Slot& slot, NodeIndex node) {
    for (const std::uint32_t group : slot.groups) groups_[group].put(node);
    const bool is_open =
        openness_ == Openness::kForFurtherPods ? has_open_node(slot) : hold(slot) || takes_back_each(slot);
    for (const std::uint32_t group : slot.groups) groups_[group].remove(node);
    return is_open;
  }
  /// Returns true if all DoNotSchedule rules hold, so that each pod could return to its node.
  bool hold(const Slot& slot) const {
    return std::ranges::all_of(slot.groups, [&](std::uint32_t group) { return groups_[group].holds(); });
  }
  /// Returns true if the filter accepts a node for the replacement of any pod that leaves.
  bool takes_back_each(const Slot& slot) {
    const SpreadGroup& counted = groups_[slot.groups.front()];
    return std::ranges::all_of(cluster_.nodes(), [&](NodeIndex node) {
      if (counted.node(node).pods == 0) return true;
      for (const std::uint32_t group : slot.groups) groups_[group].remove(node);
      const bool is_taken = has_open_node(slot);
      for (const std::uint32_t group : slot.groups) groups_[group].put(node);
      return is_taken;
    });
  }
  bool has_open_node(const Slot& slot) {
    const auto found = find_around(cluster_.node_count(), way_in_,
                                   [&](std::size_t node) { return takes(slot, static_cast<NodeIndex>(node)); });
    way_in_ = found.value_or(way_in_);
    return found.has_value();
  }

  /// Why no node takes the pod: "" if none would even out its constraints. The pod must be off its node.
  std::string why_not_better(const Slot& slot, PodIndex pod) {
    std::vector<NodeIndex> closing;
    const auto is_unfit = [&](NodeIndex node) {
      if (!lets_in_and_evens_out(slot, node)) return false;
      const bool closes = takes(slot, node) && !helps(slot, node);
      if (closes) closing.push_back(node);
      return !closes;
    };
    const auto level = run_.context.evictability.fit_level();
    // Without nodeFit every node has capacity.
    std::string text = scheduling::misfits_of(run_.what_if.cluster(), pod, level, is_unfit).text();
    if (!run_.args.node_fit) text.clear();
    if (closing.empty()) return text;
    const std::string more = closing.size() > 1 ? fmt::format(" and {} more", closing.size() - 1) : "";
    return fmt::format(
        "{}{}on {}{} the replacement would leave no node where the constraints (DoNotSchedule) allow a further pod",
        text, text.empty() ? "" : "; ", cluster_.node(closing.front()).meta.name, more);
  }
  /// Free capacity aside.
  bool lets_in_and_evens_out(const Slot& slot, NodeIndex node) const {
    SpreadDistance after;
    for (const std::uint32_t group : slot.groups) {
      if (is_filtered_ && !groups_[group].lets_in(node)) return false;
      after += groups_[group].distance_if_put(node);
    }
    return after < before_;
  }

  /// Returns the node in the emptiest domains among those that help and fit the pod. Breaks ties by number of pods,
  /// then by name.
  std::optional<NodeIndex> find_target(const Slot& slot, PodIndex pod) {
    using Key = std::tuple<SpreadCounts, std::int64_t, NodeIndex>;
    const auto& pods = run_.what_if.cluster().used().column(kPodsIndex);
    std::shared_ptr<const FitQuery> query;
    if (run_.args.node_fit) {
      query = run_.what_if.cluster().fit_query(pod, run_.context.evictability.fit_level());
    }
    std::vector<Key> order;
    for (const NodeIndex node : cluster_.nodes()) {
      if (takes(slot, node)) order.emplace_back(counts_at(slot, node), pods[node], node);
    }
    std::ranges::make_heap(order, std::ranges::greater{});
    for (; !order.empty(); order.pop_back()) {
      std::ranges::pop_heap(order, std::ranges::greater{});
      const NodeIndex node = std::get<NodeIndex>(order.back());
      if (helps(slot, node) && (!query || query->fits(node))) return node;
    }
    return std::nullopt;
  }

  // --- If nothing moves

  /// Plans again if pods must stay that should leave; otherwise switches to another outcome at the same distance.
  bool reconsider() {
    if (is_plan_outdated_) {
      is_plan_outdated_ = false;
      drop_full_nodes();
      for (SpreadGroup& group : groups_) group.plan();
      return true;
    }
    return has_moves() && std::ranges::any_of(groups_, [](SpreadGroup& group) { return group.plan_otherwise(); });
  }
  void drop_full_nodes() {
    for (Slot& slot : slots_) {
      while (run_.full[slot.node] && !slot.pods.empty()) keep_last(slot);
    }
    is_plan_outdated_ = false;
  }

  /// Reports pods that stay in domains above their limits.
  void report_stuck() {
    for (const std::vector<Slot>* slots : {&slots_, &protected_}) report_stuck(*slots);
  }
  void report_stuck(const std::vector<Slot>& slots) {
    for (const Slot& slot : slots) {
      if (run_.full[slot.node] || broken_rule(slot) == nullptr) continue;
      for (auto pod = slot.pods.rbegin(); pod != slot.pods.rend(); ++pod) {
        if (!may_leave(run_.context, run_.sink, *pod)) continue;
        run_.sink.refused_because(*pod, kNowhereBetter, [&] {
          begin_move(slot, *pod);
          for (const std::uint32_t group : slot.groups) groups_[group].remove(slot.node);
          std::string why = why_not_better(slot, *pod);
          for (const std::uint32_t group : slot.groups) groups_[group].put(slot.node);
          return why;
        });
      }
    }
  }

  /// Returns the rule whose domain of the node is furthest above its limit, or nullptr if none is above.
  const SpreadState* broken_rule(const Slot& slot) const {
    const SpreadState* broken = nullptr;
    std::int64_t most = 0;
    for (const std::uint32_t group : slot.groups) {
      for (const SpreadState* state : groups_[group].states()) {
        const std::uint32_t domain = state->domain_of(slot.node);
        if (domain == Topology::kNone || state->count(domain) - state->limit() <= most) continue;
        most = state->count(domain) - state->limit();
        broken = state;
      }
    }
    return broken;
  }

  std::string describe(const Slot& slot) const {
    const SpreadState* state = broken_rule(slot);
    if (state == nullptr) return "its move frees capacity for pods that violate their topology spread constraints";
    const api::TopologySpreadConstraint& constraint = *state->rule().constraint;
    const std::uint32_t domain = state->domain_of(slot.node);
    return fmt::format("{} {} contains {} pods of its kind, {} are allowed by maxSkew {}", constraint.topology_key,
                       state->domains().topology->domain_names[domain], state->count(domain), state->limit(),
                       constraint.max_skew);
  }

  SpreadRun& run_;
  const ClusterSnapshot& cluster_;
  std::vector<Slot> slots_;
  std::vector<Slot> protected_;  ///< pods that may not leave
  std::vector<SpreadGroup> groups_;
  bool is_plan_outdated_ = false;
  bool is_namespace_full_ = false;           ///< or out of time
  std::size_t way_in_ = 0;                   ///< where the filter let a pod in last
  std::vector<Disagreement> disagreements_;  ///< of the strict pass, in the order of the offers
  bool is_relaxed_ = false;                  ///< during the relaxed pass
  // The move in hand.
  std::optional<Refusal> disagreement_;  ///< reason of the last offer
  bool is_filtered_ = false;             ///< the pod has DoNotSchedule rules
  bool was_open_ = true;                 ///< has_open_node() before it
  SpreadDistance before_{};
  std::int64_t excess_before_ = 0;
  Openness openness_ = Openness::kForFurtherPods;
  std::vector<std::optional<bool>> helps_;  ///< indexed by node
  PodIndex first_pod_;                      ///< identifies the namespace, which all pods share
};

}  // namespace

void even_out(SpreadRun& run, const SpreadComponent& component) {
  const auto holds = [](const SpreadState* state) { return state->excess() == 0; };
  if (std::ranges::all_of(component,
                          [&](const SpreadMembers& each) { return std::ranges::all_of(each.states, holds); }))
    return;
  ComponentMoves(run, component).run();
}

}  // namespace strategies
