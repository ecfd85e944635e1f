#include "evictors/handoff/adapters/none.hpp"

#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"

namespace evictors {
namespace {

class NoneAdapter final : public HandoffAdapter {
 public:
  std::string_view name() const override { return "none"; }
  bool recognises(const api::Pod&) const override { return false; }
  Probe probe(const Context& context) const override {
    if (wants_background(*context.pod)) {
      return handoff_unsupported(name(), "the pod is moved in the background by its owner; use evictor annotation");
    }
    Probe probe;
    probe.adapter = name();
    return probe;
  }
  Plan plan(const Context& context) const override {
    if (context.evacuation.status.phase == api::EvacuationPhase::kPreparing) return {Next::kProceed, {}};
    return evict_now(context);
  }
  Observation observe(const Context&) const override { return {}; }
  Verdict classify(const Context&, const Action&, const Answer& answer) const override {
    return classify_eviction(answer);
  }
};

}  // namespace

std::unique_ptr<HandoffAdapter> none_adapter() { return std::make_unique<NoneAdapter>(); }

}  // namespace evictors
