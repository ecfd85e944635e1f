#include "evictors/handoff/adapters/generic.hpp"

#include "evictors/eviction_call.hpp"
#include "evictors/handoff/annotation.hpp"

namespace evictors {
namespace {

class GenericAdapter final : public HandoffAdapter {
 public:
  std::string_view name() const override { return Annotation::kGeneric; }
  bool recognises(const api::Pod& pod) const override { return wants_handoff(pod); }
  Probe probe(const Context& context) const override {
    if (!wants_handoff(*context.pod)) {
      return handoff_unsupported(name(), "the pod has no annotation handoff.evacuator.dev/mode");
    }
    return protocol_.probe(context);
  }
  Plan plan(const Context& context) const override { return protocol_.plan(context); }
  Observation observe(const Context& context) const override { return protocol_.observe(context); }
  Verdict classify(const Context& context, const Action& action, const Answer& answer) const override {
    return protocol_.classify(context, action, answer);
  }
  bool needs_capacity(const Context& context) const override { return protocol_.needs_capacity(context); }
  std::vector<Action> undo(const Context& context) const override { return protocol_.undo(context); }
  Rollback undone(const Context& context) const override { return protocol_.undone(context); }
  std::vector<Action> cleanup(const Context& context) const override { return protocol_.cleanup(context); }

 private:
  const Annotation protocol_;
};

}  // namespace

std::unique_ptr<HandoffAdapter> generic_adapter() { return std::make_unique<GenericAdapter>(); }

}  // namespace evictors
