#include "controllers/recorded_events.hpp"

#include "kube/events.hpp"

namespace controllers {
namespace {

kube::EventObject object_of(const EventTarget& target) { return {target.type, target.key, target.uid}; }

}  // namespace

void RecordedEvents::publish(const api::Evacuation& regarding, const EventNote& note) {
  const kube::EventObject evacuation{kube::kEvacuations, regarding.meta.key(), regarding.meta.uid};
  const kube::EventObject pod{kube::kPods, {regarding.meta.ns, regarding.spec.pod_ref.name}, regarding.spec.pod_ref.uid.value};
  kube::EventRecord record{.regarding = evacuation,
                           .related = pod,
                           .warning = note.warning,
                           .reason = note.reason,
                           .action = "Evacuate",
                           .note = note.message};
  recorder_.record(record);
  if (!note.also_on_pod) return;
  record.regarding = pod;
  record.related = evacuation;
  recorder_.record(std::move(record));
}

void RecordedEvents::publish(PublishedEvent event) {
  kube::EventRecord record{.regarding = object_of(event.regarding),
                           .warning = event.warning,
                           .reason = std::move(event.reason),
                           .action = std::move(event.action),
                           .note = std::move(event.note)};
  if (event.related) record.related = object_of(*event.related);
  recorder_.record(std::move(record));
}

}  // namespace controllers
