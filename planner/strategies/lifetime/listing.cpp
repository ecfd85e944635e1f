#include "planner/strategies/lifetime/listing.hpp"

#include <algorithm>

namespace strategies {

Subject subject_of(const StrategyContext& context, PodIndex pod) {
  return {context.cluster.base().pod(pod), context.now, context.restarts};
}

LifeTimeListing::LifeTimeListing(const StrategyContext& context, NominationSink& sink, const PodScope& scope,
                                 const Criteria& criteria, const TerminalPods& terminal_pods)
    : context_(context),
      sink_(sink),
      in_scope_(pods_in(scope, context)),
      criteria_(criteria),
      terminal_(terminal_pods, context) {}

/// Cheapest checks first.
std::vector<PodIndex> LifeTimeListing::movable_pods_on(NodeIndex node) {
  std::vector<PodIndex> pods = pods_on(context_, node, PodStates::kAll);
  std::erase_if(pods, [&](PodIndex pod) {
    return !in_scope_(pod) || !criteria_.hold_for(subject_of(context_, pod)) || is_kept(pod) || fits_nowhere(pod);
  });
  return pods;
}

bool LifeTimeListing::is_kept(PodIndex pod) {
  auto refusal = terminal_.refusal(pod);
  if (!refusal) refusal = protection_refusal(context_, sink_, pod);
  return is_refused(sink_, pod, refusal);
}

bool LifeTimeListing::fits_nowhere(PodIndex pod) {
  return is_refused(sink_, pod, last_protection_of(context_, sink_, pod));
}

/// Includes pods that fit nowhere else. Reads objects last and prefetches them: each is about a kilobyte, scattered in
/// memory. Ties keep the order of nodes, then names.
std::vector<LifeTimeListing::AgedPod> LifeTimeListing::pods_on_all_nodes() {
  std::vector<AgedPod> pods;
  for (const NodeIndex node : context_.nodes) {
    context_.cluster.for_each_on(node, [&](PodIndex pod) {
      const bool is_in_scope = !context_.cluster.is_moved(pod) && in_scope_(pod);
      if (is_in_scope) pods.push_back({context_.cluster.base().created_at(pod), pod});
    });
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    prefetch_ahead(pods, i);
    const PodIndex pod = pods[i].pod;
    if (criteria_.hold_for(subject_of(context_, pod)) && !is_kept(pod)) pods[kept++] = pods[i];
  }
  pods.resize(kept);
  if (context_.is_upstream()) std::erase_if(pods, [&](const AgedPod& each) { return fits_nowhere(each.pod); });
  std::ranges::stable_sort(pods, {}, &AgedPod::created);
  return pods;
}

void LifeTimeListing::prefetch_ahead(const std::vector<AgedPod>& pods, std::size_t at) const {
  constexpr std::size_t kAhead = 8;
  constexpr std::size_t kPartsAhead = 4;
  const ClusterSnapshot& base = context_.cluster.base();
  if (at + kAhead < pods.size()) base.prefetch(pods[at + kAhead].pod);
  if (at + kPartsAhead < pods.size()) base.prefetch_parts(pods[at + kPartsAhead].pod);
}

void LifeTimeListing::offer_by_node(const std::function<void(std::vector<PodIndex>& pods)>& sort) {
  for (const NodeIndex node : context_.nodes) {
    std::vector<PodIndex> pods = movable_pods_on(node);
    if (sort) sort(pods);
    if (!offer_all(sink_, pods, [this](PodIndex pod) { return reason_for(pod); })) return;
  }
}

void LifeTimeListing::offer_oldest_first() {
  const std::vector<AgedPod> pods = pods_on_all_nodes();
  for (std::size_t i = 0; i < pods.size(); ++i) {
    prefetch_ahead(pods, i);
    const PodIndex pod = pods[i].pod;
    if (!context_.is_upstream() && fits_nowhere(pod)) continue;
    if (sink_.offer(pod, reason_for(pod)) == NominationResult::kTotalLimit) return;
  }
}

}  // namespace strategies
