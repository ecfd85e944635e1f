#include "planner/strategies/preferences/preferred_placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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
  if (names.empty()) args.complain("preferences", "must name at least one; left out, all count");
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

/// Pods whose preferred node affinity favors other nodes, none of which accepts them.
class StuckPods {
 public:
  StuckPods(const StrategyContext& context, const PreferenceGain& gain, const PreferredPlacement::Args& args)
      : context_(context),
        gain_(gain),
        by_affinity_(context.scheduler, {args.counted.node_affinity, false, false}),
        least_gain_(args.min_gain),
        is_looked_at_(looked_at(context)) {}

  void refuse(NominationSink& sink, PodIndex pod) const {
    const WhatIf& cluster = context_.cluster;
    if (cluster.is_moved(pod) || !by_affinity_.states(cluster.base().pod(pod))) return;
    const PreferenceGain::Gains wished = by_affinity_.if_it_fit(cluster, pod);
    const auto is_better = [&](NodeIndex node) { return is_looked_at_[node] && wished.at(node) >= least_gain_; };
    if (std::ranges::none_of(context_.nodes, is_better) || gain_.of(cluster, pod).most >= least_gain_) return;
    const auto query = cluster.fit_query(pod, scheduling::FitLevel::kScheduler);
    if (std::ranges::any_of(context_.nodes, [&](NodeIndex node) { return is_better(node) && query->fits(node); }))
      return;
    if (!may_go(context_, sink, pod)) return;
    sink.refused_because(
        pod,
        {"NoMatchingNodeFits", "other nodes match its preferred node affinity better, but it fits on none of them"},
        [&] { return why_on_none_of(context_, cluster, pod, is_better); });
  }

 private:
  using WhatIf = scheduling::WhatIf;

  const StrategyContext& context_;
  const PreferenceGain& gain_;
  PreferenceGain by_affinity_;
  double least_gain_;
  std::vector<bool> is_looked_at_;
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

/// Checks each move again, because an earlier one may have been refused.
void PreferredPlacement::offer(const StrategyContext& context, NominationSink& sink, const PreferenceGain& gain,
                               const std::vector<PreferredMove>& moves) const {
  const std::vector<bool> is_in_scope = looked_at(context);
  std::int32_t made = 0;
  for (const PreferredMove& move : moves) {
    if (args_.max_moves && made >= *args_.max_moves) return;
    const PreferenceGain::Gains gains = gain.of(context.cluster, move.pod);
    if (gains.at(move.to) < args_.min_gain) continue;
    const NominationResult result = sink.offer_towards(
        move.pod, fmt::format("its preferences are met better elsewhere: by {:.0f} points", gains.at(move.to)),
        [&](NodeIndex node) { return is_in_scope[node] && gains.at(node) >= args_.min_gain; });
    if (result == NominationResult::kTotalLimit) return;
    if (result == NominationResult::kAccepted) ++made;
  }
}

base::Status PreferredPlacement::nominate(const StrategyContext& context, NominationSink& sink) const {
  const PreferenceGain gain(context.scheduler, args_.counted);
  const std::vector<PodIndex> pods = pods_with_preferences(context, gain);
  auto placement = sink.try_placements();
  if (pods.empty() || !placement) return base::Done{};  // the search needs predicted placements
  SearchBudget budget(most_steps_, context.is_cancelled);
  PreferredMoves search(
      context, std::move(placement), gain, args_.min_gain, pods,
      [&](PodIndex pod) { return may_go(context, sink, pod); }, budget);
  const std::vector<PreferredMove> moves = search.find();
  if (moves.empty() && budget.is_over())
    return base::Error{base::ErrorCode::kTimeout,
                       "the search took too many steps, nothing moves: narrow namespaces or labelSelector"};
  offer(context, sink, gain, moves);
  const StuckPods stuck(context, gain, args_);
  for (const PodIndex pod : pods) stuck.refuse(sink, pod);
  return base::Done{};
}

}  // namespace strategies
