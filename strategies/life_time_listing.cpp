#include "strategies/life_time_listing.hpp"

#include <algorithm>

#include "strategies/listing.hpp"

namespace strategies {

Subject subject_of(const Context& context, PodIndex pod) {
  return {context.cluster.base().pod(pod), context.now, context.restarts};
}

std::vector<PodIndex> pods_that_meet(const Context& context, NominationSink& sink, NodeIndex node,
                                     const Criteria& criteria, const Objection& objection) {
  std::vector<PodIndex> pods;
  context.cluster.for_each_on(node, [&](PodIndex pod) {
    if (context.cluster.is_moved(pod) || !criteria.hold_for(subject_of(context, pod))) return;
    auto refusal = objection ? objection(pod) : std::nullopt;
    if (!refusal) refusal = context.evictability.refusal(pod);
    if (refusal) {
      sink.refused(pod, *refusal);
    } else {
      pods.push_back(pod);
    }
  });
  return pods;
}

void offer_oldest_first(const Context& context, NominationSink& sink, const Criteria& criteria,
                        const Objection& objection) {
  std::vector<PodIndex> pods;
  for (const NodeIndex node : context.nodes) {
    const auto some = pods_that_meet(context, sink, node, criteria, objection);
    pods.insert(pods.end(), some.begin(), some.end());
  }
  const auto goes_nowhere = [&](PodIndex pod) {
    const auto refusal = context.evictability.refusal_before_eviction(pod, context.cluster);
    if (refusal) sink.refused(pod, *refusal);
    return refusal.has_value();
  };
  // Upstream asks all of them before the first one leaves.
  if (context.is_upstream()) std::erase_if(pods, goes_nowhere);
  // Ties stay in the order of the nodes, then by name.
  const auto created = [&](PodIndex pod) { return context.cluster.base().pod(pod).meta.creation_timestamp; };
  std::ranges::stable_sort(pods, {}, created);
  for (const PodIndex pod : pods) {
    if (!context.is_upstream() && goes_nowhere(pod)) continue;
    if (sink.offer(pod, criteria.words_for(subject_of(context, pod))) == Verdict::kTotalLimit) return;
  }
}

}  // namespace strategies
