#include "evictors/eviction_api.hpp"

#include "api/meta/well_known.hpp"
#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"

namespace evictors {
namespace {

Probe refused_by_eviction_api(std::string reason) {
  Probe probe;
  probe.support = Support::kUnsupported;
  probe.reason = std::move(reason);
  return probe;
}

}  // namespace

api::FieldErrors EvictionApi::validate(const std::vector<std::pair<std::string, std::string>>& parameters,
                                       const api::FieldPath& path) const {
  return check_parameters(parameters, path, {kRequestedBy});
}

Probe EvictionApi::probe(const Context& context) const {
  if (wants_handoff(*context.pod) && context.pod->meta.annotations.value(api::well_known::kHandoffMode) != "optional") {
    return refused_by_eviction_api("the pod requires a handoff; use evictor annotation");
  }
  if (wants_background(*context.pod)) {
    return refused_by_eviction_api("the pod is moved in the background by its owner; use evictor annotation");
  }
  return {};
}

Plan EvictionApi::plan(const Context& context) const {
  if (context.evacuation.status.phase != api::EvacuationPhase::kRequesting) return {Next::kProceed, {}};
  return {Next::kAct, post_eviction(context)};
}

Observation EvictionApi::observe(const Context&) const { return {}; }

Verdict EvictionApi::classify(const Context&, const Action&, const Answer& answer) const {
  return classify_eviction(answer);
}

std::vector<Action> EvictionApi::undo(const Context&) const { return {}; }

Rollback EvictionApi::undone(const Context&) const { return Rollback::kNothingToDo; }

std::vector<Action> EvictionApi::cleanup(const Context&) const { return {}; }

}  // namespace evictors
