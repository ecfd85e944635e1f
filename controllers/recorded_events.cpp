#include "controllers/recorded_events.hpp"

#include "kube/runtime/events.hpp"

namespace controllers {
namespace {

kube::EventObject object_of(const kube::ResourceType& type, const api::ObjectKey& key, const std::string& uid) {
  return {type.api_version(), std::string(type.kind), key.ns, key.name, uid};
}

kube::EventObject object_of(const EventTarget& target) { return object_of(target.type, target.key, target.uid); }

kube::EventKind kind_of(bool warning) { return warning ? kube::EventKind::kWarning : kube::EventKind::kNormal; }

}  // namespace

void RecordedEvents::publish(const api::Evacuation& regarding, const EventNote& note) {
  const auto evacuation = object_of(kube::kEvacuations, regarding.meta.key(), regarding.meta.uid);
  const auto pod =
      object_of(kube::kPods, {regarding.meta.ns, regarding.spec.pod_ref.name}, regarding.spec.pod_ref.uid.value);
  recorder_.publish({evacuation, pod, kind_of(note.warning), note.reason, "Evacuate", note.message});
  if (note.also_on_pod)
    recorder_.publish({pod, evacuation, kind_of(note.warning), note.reason, "Evacuate", note.message});
}

void RecordedEvents::publish(PublishedEvent event) {
  std::optional<kube::EventObject> related;
  if (event.related) related = object_of(*event.related);
  recorder_.publish({object_of(event.regarding), std::move(related), kind_of(event.warning), std::move(event.reason),
                     std::move(event.action), std::move(event.note)});
}

}  // namespace controllers
