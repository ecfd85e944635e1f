#include "planner/strategies/preferences/preferred_placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "planner/strategies/listing.hpp"
#include "planner/strategies/load/move_cost.hpp"
#include "planner/strategies/search_budget.hpp"

namespace strategies {
namespace {

constexpr std::string_view kNodeAffinity = "NodeAffinity";
constexpr std::string_view kPodAffinity = "PodAffinity";
constexpr std::string_view kTopologySpread = "TopologySpread";
constexpr std::array kPreferences = {kNodeAffinity, kPodAffinity, kTopologySpread};

CountedPreferences read_preferences(api::StrictObject& args) {
  if (args.find("preferences") == nullptr) return {};
  const std::vector<std::string> names = read_choices(args, "preferences", kPreferences);
  if (names.empty()) args.complain("preferences", "must contain at least one; if not set, all apply");
  const auto counts = [&](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
  return {counts(kNodeAffinity), counts(kPodAffinity), counts(kTopologySpread)};
}

/// Returns whether the pod may move, and reports the refusal if not.
bool may_go(const StrategyContext& context, NominationSink& sink, PodIndex pod) {
  return may_leave(context, sink, pod) && !is_refused(sink, pod, sink.objection(pod));
}

constexpr int kMaxTries = 20;               // with more pods that stay each time
constexpr int kMaxRounds = 8;               // until nothing moves
constexpr int kMaxPasses = 50;              // over all pods, in one try
constexpr std::size_t kStepsToSettle = 50;  // to see that a pod is settled; otherwise one per node

struct PreferredMove {
  PodIndex pod;
  NodeIndex to;
};

/// Searches moves after which every pod is settled: no preference would be met better, by `min_gain` points, on a
/// node where the scheduler would place the pod. The same search on the result finds no moves. Each pod moves at most
/// once. A pod that would have to move again because of other moves stays. If no such sequence is found, the result is
/// empty.
class PreferredMoves {
 public:
  /// The order of `pods` must not depend on their nodes. `may_go` is called at most once per pod, when it would move.
  PreferredMoves(const StrategyContext& context, std::unique_ptr<WhatIfPlacement> placement, const PreferenceGain& gain,
                 double min_gain, const std::vector<PodIndex>& pods, std::function<bool(PodIndex)> may_go,
                 SearchBudget& budget)
      : placement_(std::move(placement)),
        gain_(gain),
        min_gain_(min_gain),
        pods_(pods),
        may_go_(std::move(may_go)),
        budget_(budget),
        answers_(context.cluster.base().pod_table_size()),
        is_in_scope_(nodes_in_scope(context)) {}

  /// Returns the moves in the order in which they must be made, or none if the budget is exhausted. Returns no partial
  /// plan, because pods would move again in the next cycle. The next cycle starts from the outcome of all moves, so
  /// settle() must find no further move there. Call once.
  std::vector<PreferredMove> find() {
    std::vector<PreferredMove> all;
    Pods moved;
    for (int round = 0; round < kMaxRounds; ++round) {
      const auto more = settle(moved);
      if (!more || budget_.is_over()) return {};
      if (more->empty()) return all;
      for (const PreferredMove& move : *more) moved.insert(move.pod);
      all.insert(all.end(), more->begin(), more->end());
    }
    return {};
  }

 private:
  using Pods = std::unordered_set<PodIndex>;

  /// Moves pods until all are settled. Depends only on the positions of pods. Returns nullopt if that needs more than
  /// one move per pod.
  std::optional<std::vector<PreferredMove>> settle(const Pods& moved_before) {
    Pods staying;
    for (int i = 0; i < kMaxTries && !budget_.is_over(); ++i) {
      Pods restless;
      std::vector<PreferredMove> moves = run_passes(moved_before, staying, restless);
      if (restless.empty()) return moves;
      for (const PreferredMove& move : moves) placement_->restore(move.pod);
      for (const PodIndex pod : restless) {
        if (moved_before.contains(pod)) return std::nullopt;
        staying.insert(pod);
      }
    }
    return std::nullopt;
  }

  /// `restless` receives pods that would move twice. The caller must then restore all pods except those of earlier
  /// rounds.
  std::vector<PreferredMove> run_passes(const Pods& moved_before, const Pods& staying, Pods& restless) {
    std::vector<PreferredMove> moves;
    Pods moved = moved_before;
    bool has_changed = true;
    for (int pass = 0; has_changed && restless.empty() && !budget_.is_over(); ++pass) {
      has_changed = false;
      for (const PodIndex pod : pods_) {
        if (staying.contains(pod) || budget_.is_over()) continue;
        const auto move = moved.contains(pod) ? relocate(pod) : try_to_move(pod);
        if (!move) continue;
        has_changed = true;
        if (!moved.insert(pod).second || pass >= kMaxPasses) restless.insert(pod);
        if (!moved_before.contains(pod)) moves.push_back(*move);
      }
    }
    return moves;
  }

  /// Rejects nodes where the pod would not be settled: the old pod's node looks fuller while the pod terminates.
  std::optional<PreferredMove> try_to_move(PodIndex pod) {
    const auto move = relocate(pod);
    if (!move || !relocate(pod)) return move;
    placement_->restore(pod);
    return std::nullopt;
  }

  std::optional<PreferredMove> relocate(PodIndex pod) {
    const PreferenceGain::Gains gains = gain_.of(placement_->cluster(), pod);
    budget_.spend(kStepsToSettle + gains.points.size());
    if (gains.most < min_gain_ || !may_go(pod)) return std::nullopt;
    const auto helps = [&](NodeIndex node) { return is_in_scope_[node] && gains.at(node) >= min_gain_; };
    const auto to = placement_->relocate(pod, helps);
    if (!to) return std::nullopt;
    return PreferredMove{pod, *to};
  }

  bool may_go(PodIndex pod) {
    if (!answers_[pod]) answers_[pod] = may_go_(pod);
    return *answers_[pod];
  }

  std::unique_ptr<WhatIfPlacement> placement_;
  const PreferenceGain& gain_;
  double min_gain_;
  const std::vector<PodIndex>& pods_;
  std::function<bool(PodIndex)> may_go_;
  SearchBudget& budget_;
  std::vector<std::optional<bool>> answers_;  ///< by pod: answer of may_go_
  std::vector<bool> is_in_scope_;             ///< by node
};

/// Reports why pods stay whose preferences would be met better on other nodes.
class StuckPods {
 public:
  /// `told`: pods that have been reported.
  StuckPods(const StrategyContext& context, const PreferenceGain& gain, const PreferredPlacement& args,
            const std::unordered_set<PodIndex>& told)
      : context_(context),
        gain_(gain),
        told_(told),
        wishes_{
            WantedFigures{{context.scheduler, {args.counted.node_affinity, false, false}},
                          {"NoMatchingNodeFits",
                           "other nodes match its preferred node affinity better, but it does not fit on any of them"}},
            WantedFigures{{context.scheduler, {false, args.counted.pod_affinity, false}},
                          {"NowhereBetter",
                           "other nodes match its preferred pod affinity better, but it does not fit on any of them"}},
            WantedFigures{{context.scheduler, {false, false, args.counted.topology_spread}},
                          {"NowhereBetter",
                           "other nodes match its topology spread constraints (ScheduleAnyway) better, but it does not "
                           "fit on any of them"}}},
        least_gain_(args.min_gain),
        is_in_scope_(nodes_in_scope(context)) {}

  /// `is_done`: all moves that the search found are made.
  void refuse(NominationSink& sink, PodIndex pod, bool is_done) {
    if (context_.cluster.is_moved(pod) || told_.contains(pod)) return;
    const PreferenceGain::Gains gains = gain_.of(context_.cluster, pod);
    if (gains.most < least_gain_)
      refuse_misfit(sink, pod);
    else if (is_done)
      refuse_kept(sink, pod, gains);
  }

 private:
  /// What a pod prefers, looked at by itself.
  struct WantedFigures {
    PreferenceGain gain;
    Refusal refusal;  ///< where only misfits keep the pod from it
  };

  bool is_better(const PreferenceGain::Gains& gains, NodeIndex node) const {
    return is_in_scope_[node] && gains.at(node) >= least_gain_;
  }

  void refuse_misfit(NominationSink& sink, PodIndex pod) const {
    const WhatIf& cluster = context_.cluster;
    for (const WantedFigures& wish : wishes_) {
      if (!wish.gain.states(cluster.base().pod(pod))) continue;
      const PreferenceGain::Gains wished = wish.gain.if_it_fit(cluster, pod);
      const auto helps = [&](NodeIndex node) { return is_better(wished, node); };
      if (std::ranges::none_of(context_.nodes, helps)) continue;
      const auto query = cluster.fit_query(pod, FitLevel::kScheduler);
      if (std::ranges::any_of(context_.nodes, [&](NodeIndex node) { return helps(node) && query->fits(node); }))
        continue;
      if (may_go(context_, sink, pod))
        sink.refused_because(pod, wish.refusal, [&] { return why_on_none_of(context_, cluster, pod, helps); });
      return;
    }
  }

  /// A pod that fits on a better node and was not moved there.
  void refuse_kept(NominationSink& sink, PodIndex pod, const PreferenceGain::Gains& gains) {
    const auto helps = [&](NodeIndex node) { return is_better(gains, node); };
    if (std::ranges::none_of(context_.nodes, helps) || !may_go(context_, sink, pod)) return;
    if (!placement_) placement_ = sink.plan().try_placements();
    if (const auto to = placement_->relocate(pod, helps)) {
      placement_->restore(pod);
      return sink.refused(pod,
                          {"NowhereBetter", "{subject} matches its preferences better, but it would have to move again",
                           context_.cluster.base().node(*to).meta.name});
    }
    const auto to = placement_->relocate(pod, [](NodeIndex) { return true; });
    if (!to) return sink.refused(pod, {"NowhereBetter", "no node that matches its preferences better accepts it"});
    placement_->restore(pod);
    sink.refused(pod, {"SchedulerDisagrees",
                       "other nodes match its preferences better, but the scheduler would place its replacement on "
                       "{subject}, where the move does not help",
                       context_.cluster.base().node(*to).meta.name});
  }

  const StrategyContext& context_;
  const PreferenceGain& gain_;
  const std::unordered_set<PodIndex>& told_;
  std::array<WantedFigures, 3> wishes_;
  double least_gain_;
  std::vector<bool> is_in_scope_;
  std::unique_ptr<WhatIfPlacement> placement_;  ///< of the cluster after all offers
};

/// Ordered by name, because the result of a search must not depend on the positions of pods.
std::vector<PodIndex> pods_with_preferences(const StrategyContext& context, const PreferenceGain& gain,
                                            const PodScope& scope) {
  const ClusterSnapshot& base = context.cluster.base();
  const std::vector<bool> is_in_scope = nodes_in_scope(context);
  std::vector<PodIndex> pods;
  for (const PodIndex pod : base.pods_by_name()) {
    const NodeIndex node = context.cluster.node_of(pod);
    if (node == kNoNode || !is_in_scope[node] || context.cluster.is_moved(pod)) continue;
    if (!base.owner_of(pod) || is_node_bound(base, pod)) continue;
    if (gain.states(base.pod(pod)) && scope.includes(base.pod(pod))) pods.push_back(pod);
  }
  return pods;
}

/// Each is looked at again: one before it may have been refused. Returns true if all were accepted.
bool offer(const PreferredPlacement& args, const StrategyContext& context, NominationSink& sink,
           const PreferenceGain& gain, const std::vector<PreferredMove>& moves) {
  const std::vector<bool> is_in_scope = nodes_in_scope(context);
  std::int32_t made = 0;
  for (const PreferredMove& move : moves) {
    if (args.max_moves && made >= *args.max_moves) return false;
    const PreferenceGain::Gains gains = gain.of(context.cluster, move.pod);
    if (gains.at(move.to) < args.min_gain) continue;
    const NominationResult result = sink.offer_towards(
        move.pod, fmt::format("other nodes match its preferences better: by {:.0f} points", gains.at(move.to)),
        [&](NodeIndex node) { return is_in_scope[node] && gains.at(node) >= args.min_gain; });
    if (result == NominationResult::kTotalLimit) return false;
    if (result == NominationResult::kAccepted) ++made;
  }
  return static_cast<std::size_t>(made) == moves.size();
}

}  // namespace

PreferredPlacement PreferredPlacement::read(api::StrictObject& args) {
  PreferredPlacement parsed;
  parsed.counted = read_preferences(args);
  args.read("minGain", parsed.min_gain);
  if (!(parsed.min_gain >= 1 && parsed.min_gain <= 100))
    args.complain("minGain", fmt::format("{} is not between 1 and 100", parsed.min_gain));
  args.read("maxMoves", parsed.max_moves);
  if (parsed.max_moves && *parsed.max_moves < 1)
    args.complain("maxMoves", fmt::format("{} is below 1", *parsed.max_moves));
  parsed.scope = read_scope(args);
  return parsed;
}

base::Status PreferredPlacement::nominate(const StrategyContext& context, NominationSink& sink) const {
  const PreferenceGain gain(context.scheduler, counted);
  const std::vector<PodIndex> pods = pods_with_preferences(context, gain, scope);
  auto placement = sink.plan().try_placements();
  if (pods.empty() || !placement) return base::Done{};  // without foresight nothing can be said
  std::unordered_set<PodIndex> told;
  SearchBudget budget(max_steps, context.is_cancelled);
  PreferredMoves search(
      context, std::move(placement), gain, min_gain, pods,
      [&](PodIndex pod) {
        const bool may = may_go(context, sink, pod);
        if (!may) told.insert(pod);
        return may;
      },
      budget);
  const std::vector<PreferredMove> moves = search.find();
  if (moves.empty() && budget.is_over())
    return base::Error{base::ErrorCode::kTimeout,
                       "the search exceeded its step limit, nothing moves: narrow namespaces or labelSelector"};
  const bool is_done = offer(*this, context, sink, gain, moves);
  for (const PreferredMove& move : moves) told.insert(move.pod);
  StuckPods stuck(context, gain, *this, told);
  for (const PodIndex pod : pods) stuck.refuse(sink, pod, is_done);
  return base::Done{};
}

}  // namespace strategies
