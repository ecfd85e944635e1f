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
bool LifeTimeListing::is_wanted(PodIndex pod) {
  return !context_.cluster.is_moved(pod) && in_scope_(pod) && criteria_.hold_for(subject_of(context_, pod));
}

std::vector<PodIndex> LifeTimeListing::movable_pods_on(NodeIndex node) {
  std::vector<PodIndex> pods;
  context_.cluster.for_each_on(node, [&](PodIndex pod) {
    if (is_wanted(pod) && !is_kept(pod) && !fits_nowhere(pod)) pods.push_back(pod);
  });
  return pods;
}

bool LifeTimeListing::is_kept(PodIndex pod) {
  auto refusal = terminal_.refusal(pod);
  if (!refusal) refusal = protection_refusal(context_, sink_, pod);
  if (refusal) sink_.refused(pod, *refusal);
  return refusal.has_value();
}

bool LifeTimeListing::fits_nowhere(PodIndex pod) {
  const auto refusal = last_protection_of(context_, sink_, pod);
  if (refusal) sink_.refused(pod, *refusal);
  return refusal.has_value();
}

/// Reads objects last and prefetches them: each is about a kilobyte, scattered in memory.
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
  return pods;
}

/// Ties keep the order of nodes, then names.
void LifeTimeListing::sort_oldest_first(std::vector<AgedPod>& pods) {
  std::ranges::stable_sort(pods, {}, &AgedPod::created);
}

void LifeTimeListing::prefetch_ahead(const std::vector<AgedPod>& pods, std::size_t at) const {
  constexpr std::size_t kAhead = 8;
  constexpr std::size_t kPartsAhead = 4;
  const scheduling::ClusterSnapshot& base = context_.cluster.base();
  if (at + kAhead < pods.size()) base.prefetch(pods[at + kAhead].pod);
  if (at + kPartsAhead < pods.size()) base.prefetch_parts(pods[at + kPartsAhead].pod);
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
    if (fits_nowhere(pods[i].pod)) continue;
    if (offer(pods[i].pod) == NominationResult::kTotalLimit) return;
  }
}

void LifeTimeListing::offer_oldest_first_upstream() {
  std::vector<AgedPod> pods = pods_on_all_nodes();
  std::erase_if(pods, [&](const AgedPod& each) { return fits_nowhere(each.pod); });
  sort_oldest_first(pods);
  for (std::size_t i = 0; i < pods.size(); ++i) {
    prefetch_ahead(pods, i);
    if (offer(pods[i].pod) == NominationResult::kTotalLimit) return;
  }
}

}  // namespace strategies
