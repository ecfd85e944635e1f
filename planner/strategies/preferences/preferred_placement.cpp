#include "planner/strategies/preferences/preferred_placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_set>

#include "planner/strategies/listing.hpp"

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

std::vector<bool> looked_at(const StrategyContext& context) {
  std::vector<bool> nodes(context.cluster.base().node_count(), false);
  for (const NodeIndex node : context.nodes) nodes[node] = true;
  return nodes;
}

/// Returns whether the pod may move, and reports the refusal if not.
bool may_go(const StrategyContext& context, NominationSink& sink, PodIndex pod) {
  if (!may_leave(context, sink, pod)) return false;
  const auto objection = sink.objection(pod);
  if (objection) sink.refused(pod, *objection);
  return !objection;
}

using scheduling::Refusal;
using scheduling::WhatIf;

/// Reports why pods stay whose preferences would be met better on other nodes.
class StuckPods {
 public:
  /// `told`: pods that have been reported.
  StuckPods(const StrategyContext& context, const PreferenceGain& gain, const PreferredPlacement::Args& args,
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
        is_in_scope_(looked_at(context)) {}

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
      const auto query = cluster.fit_query(pod, scheduling::FitLevel::kScheduler);
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

}  // namespace

PreferredPlacement::Args PreferredPlacement::Args::read(api::StrictObject& args) {
  Args parsed;
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

/// Ordered by name, because the result of a search must not depend on the positions of pods.
std::vector<PodIndex> PreferredPlacement::pods_with_preferences(const StrategyContext& context,
                                                                const PreferenceGain& gain) const {
  const scheduling::ClusterSnapshot& base = context.cluster.base();
  const std::vector<bool> is_in_scope = looked_at(context);
  std::vector<PodIndex> pods;
  for (const PodIndex pod : base.pods_by_name()) {
    const NodeIndex node = context.cluster.node_of(pod);
    if (node == scheduling::kNoNode || !is_in_scope[node] || context.cluster.is_moved(pod)) continue;
    if (!base.is_staying(pod) || !base.owner_of(pod) || base.is_daemon_set(pod) || base.is_mirror(pod)) continue;
    if (gain.states(base.pod(pod)) && args_.scope.includes(base.pod(pod))) pods.push_back(pod);
  }
  return pods;
}

/// Each is looked at again: one before it may have been refused. Returns true if all were accepted.
bool PreferredPlacement::offer(const StrategyContext& context, NominationSink& sink, const PreferenceGain& gain,
                               const std::vector<PreferredMove>& moves) const {
  const std::vector<bool> is_in_scope = looked_at(context);
  std::int32_t made = 0;
  for (const PreferredMove& move : moves) {
    if (args_.max_moves && made >= *args_.max_moves) return false;
    const PreferenceGain::Gains gains = gain.of(context.cluster, move.pod);
    if (gains.at(move.to) < args_.min_gain) continue;
    const NominationResult result = sink.offer_towards(
        move.pod, fmt::format("other nodes match its preferences better: by {:.0f} points", gains.at(move.to)),
        [&](NodeIndex node) { return is_in_scope[node] && gains.at(node) >= args_.min_gain; });
    if (result == NominationResult::kTotalLimit) return false;
    if (result == NominationResult::kAccepted) ++made;
  }
  return static_cast<std::size_t>(made) == moves.size();
}

base::Status PreferredPlacement::nominate(const StrategyContext& context, NominationSink& sink) const {
  const PreferenceGain gain(context.scheduler, args_.counted);
  const std::vector<PodIndex> pods = pods_with_preferences(context, gain);
  auto placement = sink.plan().try_placements();
  if (pods.empty() || !placement) return base::Done{};  // without foresight nothing can be said
  std::unordered_set<PodIndex> told;
  SearchBudget budget(max_steps_, context.is_cancelled);
  PreferredMoves search(
      context, std::move(placement), gain, args_.min_gain, pods,
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
  const bool is_done = offer(context, sink, gain, moves);
  for (const PreferredMove& move : moves) told.insert(move.pod);
  StuckPods stuck(context, gain, args_, told);
  for (const PodIndex pod : pods) stuck.refuse(sink, pod, is_done);
  return base::Done{};
}

}  // namespace strategies
