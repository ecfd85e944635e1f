#include <utility>

#include <nlohmann/json.hpp>

#include "simulator/keyed_actor.hpp"
#include "simulator/operators/handoff_script.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;

class HandoffOperator final : public KeyedActor<api::ObjectKey> {
 public:
  HandoffOperator(Store& store, EventRecorder& events, std::optional<HandoffScript> default_script)
      : KeyedActor(store), events_(events), brain_(std::move(default_script)) {
    journal_.follow(kube::kPods, [this](const Change& change) {
      if (change.kind == ChangeKind::kDeleted) {
        brain_.forget(uid_of(*change.object));
        agenda_.drop(change.key);
        return;
      }
      dirty_.insert(change.key);
    });
  }

  std::string_view name() const override { return "handoff-operator"; }

 private:
  bool process(const api::ObjectKey& key, base::TimePoint now) override {
    const Object pod = store_.get(kube::kPods, key);
    agenda_.drop(key);
    if (!pod) return false;
    const auto action = brain_.look(*pod, now);
    if (!action) return false;
    if (!action->problem.empty()) events_.warning(name(), *pod, "BadHandoffScript", action->problem);
    const HandoffStep& step = action->step;
    if (step.due) agenda_.set(key, *step.due);
    bool changed = false;
    if (!step.annotations.empty()) {
      changed = store_.edit(kube::kPods, key, Part::kMain, uid_of(*pod), [&](Json& edited) {
        edited.merge_patch(handoff_merge_patch(step, uid_of(*pod)));
      }) != nullptr;
    }
    if (step.delete_pod) changed = store_.remove(kube::kPods, key, {uid_of(*pod), ""}).ok() || changed;
    return changed;
  }

  EventRecorder& events_;
  HandoffOperatorState brain_;
};

}  // namespace

std::unique_ptr<Actor> make_handoff_operator(Store& store, EventRecorder& events,
                                             std::optional<HandoffScript> default_script) {
  return std::make_unique<HandoffOperator>(store, events, std::move(default_script));
}

}  // namespace simulator
