#include "simulator/operators/handoff_operator.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "simulator/pod_facts.hpp"

namespace simulator {

using api::Json;

HandoffOperator::HandoffOperator(Store& store, EventRecorder& events, std::optional<HandoffScript> default_script)
    : store_(store), events_(events), journal_(store), brain_(std::move(default_script)) {
  journal_.follow(kube::kPods, [this](const Change& change) {
    if (change.kind == ChangeKind::kDeleted) {
      brain_.forget(uid_of(*change.object));
      agenda_.drop(change.key);
      return;
    }
    dirty_.insert(change.key);
  });
}

bool HandoffOperator::tick(base::TimePoint now) {
  journal_.poll();
  for (const api::ObjectKey& key : agenda_.take_due(now)) dirty_.insert(key);
  bool changed = false;
  for (const api::ObjectKey& key : std::exchange(dirty_, {})) changed = look_at(key, now) || changed;
  return changed;
}

bool HandoffOperator::look_at(const api::ObjectKey& key, base::TimePoint now) {
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
    changed = store_
                  .mutate(kube::kPods, key, Part::kMain,
                          [&](Json& edited) -> base::Status {
                            if (uid_of(edited) != uid_of(*pod))
                              return base::Error{base::ErrorCode::kConflict, "another pod"};
                            Json& annotations = object_in(object_in(edited, "metadata"), "annotations");
                            for (const auto& [name, value] : step.annotations) {
                              if (value) {
                                annotations[name] = *value;
                              } else {
                                annotations.erase(name);
                              }
                            }
                            return base::Done{};
                          })
                  .ok();
  }
  if (step.delete_pod) changed = store_.remove(kube::kPods, key, {uid_of(*pod), ""}).ok() || changed;
  return changed;
}

}  // namespace simulator
