#include "evictors/handoff/adapters/adapters.hpp"

#include "evictors/eviction_call.hpp"
#include "evictors/handoff/annotation.hpp"

namespace evictors::handoff {
namespace {

class GenericAdapter final : public Adapter {
 public:
  std::string_view name() const override { return AnnotationEvictor::kGeneric; }
  bool recognises(const api::Pod& pod) const override { return wants_handoff(pod); }
  Probe probe(const EvictorContext& context) const override {
    if (!wants_handoff(*context.pod)) {
      return unsupported(name(), "the pod has no annotation handoff.evacuator.dev/mode");
    }
    return protocol_.probe(context);
  }
  EvictionStep plan(const EvictorContext& context) const override { return protocol_.plan(context); }
  Observation observe(const EvictorContext& context) const override { return protocol_.observe(context); }
  Classification classify(const EvictorContext& context, const Action& action,
                          const CallResult& answer) const override {
    return protocol_.classify(context, action, answer);
  }
  bool needs_capacity(const EvictorContext& context) const override { return protocol_.needs_capacity(context); }
  std::vector<Action> undo(const EvictorContext& context) const override { return protocol_.undo(context); }
  Rollback undone(const EvictorContext& context) const override { return protocol_.undone(context); }
  std::vector<Action> cleanup(const EvictorContext& context) const override { return protocol_.cleanup(context); }

 private:
  const AnnotationEvictor protocol_{};
};

}  // namespace

std::unique_ptr<Adapter> generic_adapter() { return std::make_unique<GenericAdapter>(); }

}  // namespace evictors::handoff
