#include "evictors/eviction_api.hpp"

#include "api/meta/well_known.hpp"
#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"

namespace evictors {

Probe EvictionApi::probe(const EvictorContext& context) const {
  if (wants_handoff(*context.pod) && context.pod->meta.annotations.value(api::well_known::kHandoffMode) != "optional") {
    return unsupported("", "the pod requires a handoff; use evictor annotation");
  }
  if (wants_background(*context.pod)) {
    return unsupported("", "the pod is moved in the background by its owner; use evictor annotation");
  }
  return {};
}

EvictionStep EvictionApi::plan(const EvictorContext& context) const {
  if (context.phase() != EvacuationPhase::kRequesting) return {NextMove::kProceed, {}};
  // A decision made from a cached pod must not evict a newer version of it.
  return {NextMove::kAct,
          post_eviction(context, context.pod_is_cached ? context.pod->meta.resource_version : std::string())};
}

Observation EvictionApi::observe(const EvictorContext& context) const {
  Observation seen;
  if (context.pod->is_terminal()) return seen;  // no container runs, so no owner needs to agree
  const Probe now = probe(context);
  if (now.support == Support::kUnsupported)
    seen.failed = RemoteFailure{"OwnerDecides", now.reason, true, false, api::Reason::kNotEvictable};
  return seen;
}

Classification EvictionApi::classify(const EvictorContext&, const Action&, const CallResult& answer) const {
  return classify_eviction(answer);
}

}  // namespace evictors
