#include "strategies/lifetime/listing.hpp"

#include <algorithm>
#include <utility>

namespace strategies {

Subject subject_of(const Context& context, PodIndex pod) {
  return {context.cluster.base().pod(pod), context.now, context.restarts};
}

LifeTimeListing::LifeTimeListing(const Context& context, NominationSink& sink, const PodScope& scope,
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

void LifeTimeListing::offer_oldest_first() {
  using Aged = std::pair<base::TimePoint, PodIndex>;
  std::vector<Aged> pods;
  for (const NodeIndex node : context_.nodes) {
    for (const PodIndex pod : pods_on(node)) {
      pods.emplace_back(context_.cluster.base().pod(pod).meta.creation_timestamp, pod);
    }
  }
  // Upstream asks all of them before the first one leaves.
  if (context_.is_upstream()) std::erase_if(pods, [&](const Aged& each) { return goes_nowhere(each.second); });
  // Ties stay in the order of the nodes, then by name.
  std::ranges::stable_sort(pods, {}, &Aged::first);
  constexpr std::size_t kAhead = 4;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const PodIndex pod = pods[i].second;
    if (i + kAhead < pods.size()) context_.cluster.base().prefetch(pods[i + kAhead].second);
    if (!context_.is_upstream() && goes_nowhere(pod)) continue;
    if (sink_.offer(pod, criteria_.words_for(subject_of(context_, pod))) == Verdict::kTotalLimit) return;
  }
}

}  // namespace strategies
