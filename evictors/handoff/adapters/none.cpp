#include "evictors/handoff/adapters/adapters.hpp"

#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"

namespace evictors::handoff {
namespace {

class NoneAdapter final : public Adapter {
 public:
  std::string_view name() const override { return "none"; }
  bool recognises(const api::Pod&) const override { return false; }
  Probe probe(const EvictorContext& context) const override {
    if (wants_background(*context.pod)) {
      return unsupported(name(), "the pod is moved in the background by its owner; use evictor annotation");
    }
    Probe probe;
    probe.adapter = name();
    return probe;
  }
  EvictionStep plan(const EvictorContext& context) const override {
    if (context.phase() == EvacuationPhase::kPreparing) return {NextMove::kProceed, {}};
    return evict_now(context);
  }
  Classification classify(const EvictorContext&, const Action&, const CallResult& answer) const override {
    return classify_eviction(answer);
  }
};

}  // namespace

std::unique_ptr<Adapter> none_adapter() { return std::make_unique<NoneAdapter>(); }

}  // namespace evictors::handoff
