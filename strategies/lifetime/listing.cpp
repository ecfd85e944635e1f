#include "strategies/lifetime/listing.hpp"

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

/// Asks what is cheapest first.
bool LifeTimeListing::is_wanted(PodIndex pod) {
  return !context_.cluster.is_moved(pod) && in_scope_(pod) && criteria_.hold_for(subject_of(context_, pod));
}

std::vector<PodIndex> LifeTimeListing::pods_on(NodeIndex node) {
  std::vector<PodIndex> pods;
  context_.cluster.for_each_on(node, [&](PodIndex pod) {
    if (is_wanted(pod) && !is_kept(pod)) pods.push_back(pod);
  });
  return pods;
}

std::vector<PodIndex> LifeTimeListing::movable_pods_on(NodeIndex node) {
  std::vector<PodIndex> pods;
  context_.cluster.for_each_on(node, [&](PodIndex pod) {
    if (is_wanted(pod) && !is_kept(pod) && !goes_nowhere(pod)) pods.push_back(pod);
  });
  return pods;
}

bool LifeTimeListing::is_kept(PodIndex pod) {
  auto refusal = terminal_.refusal(pod);
  if (!refusal) refusal = context_.evictability.refusal(pod);
  if (refusal) sink_.refused(pod, *refusal);
  return refusal.has_value();
}

bool LifeTimeListing::goes_nowhere(PodIndex pod) {
  const auto refusal = context_.evictability.refusal_before_eviction(pod, context_.cluster);
  if (refusal) sink_.refused(pod, *refusal);
  return refusal.has_value();
}

std::vector<LifeTimeListing::AgedPod> LifeTimeListing::pods_on_all_nodes() {
  std::vector<AgedPod> pods;
  for (const NodeIndex node : context_.nodes) {
    for (const PodIndex pod : pods_on(node)) {
      pods.push_back({context_.cluster.base().pod(pod).meta.creation_timestamp, pod});
    }
  }
  return pods;
}

/// Ties stay in the order of the nodes, then by name.
void LifeTimeListing::sort_oldest_first(std::vector<AgedPod>& pods) {
  std::ranges::stable_sort(pods, {}, &AgedPod::created);
}

void LifeTimeListing::prefetch_ahead(const std::vector<AgedPod>& pods, std::size_t at) const {
  constexpr std::size_t kAhead = 4;
  if (at + kAhead < pods.size()) context_.cluster.base().prefetch(pods[at + kAhead].pod);
}

NominationResult LifeTimeListing::offer(PodIndex pod) {
  return sink_.offer(pod, criteria_.words_for(subject_of(context_, pod)));
}

void LifeTimeListing::offer_compatibly() {
  if (context_.is_upstream()) {
    offer_oldest_first_upstream();
  } else {
    offer_oldest_first();
  }
}

void LifeTimeListing::offer_oldest_first() {
  std::vector<AgedPod> pods = pods_on_all_nodes();
  sort_oldest_first(pods);
  for (std::size_t i = 0; i < pods.size(); ++i) {
    prefetch_ahead(pods, i);
    if (goes_nowhere(pods[i].pod)) continue;
    if (offer(pods[i].pod) == NominationResult::kTotalLimit) return;
  }
}

void LifeTimeListing::offer_oldest_first_upstream() {
  std::vector<AgedPod> pods = pods_on_all_nodes();
  std::erase_if(pods, [&](const AgedPod& each) { return goes_nowhere(each.pod); });
  sort_oldest_first(pods);
  for (std::size_t i = 0; i < pods.size(); ++i) {
    prefetch_ahead(pods, i);
    if (offer(pods[i].pod) == NominationResult::kTotalLimit) return;
  }
}

}  // namespace strategies
