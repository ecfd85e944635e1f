#pragma once

/// An Event (events.k8s.io/v1) as a value, and who takes it. Who sends it is events.hpp.

#include <optional>
#include <string>
#include <utility>

#include "api/meta/object_meta.hpp"
#include "api/vocabulary/events.hpp"
#include "kube/resource.hpp"

namespace kube {

/// What an Event points at.
struct EventObject {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
  friend auto operator<=>(const EventObject&, const EventObject&) = default;
};
EventObject event_object(const ResourceType& type, const api::ObjectMeta& meta);
EventObject event_object(const ResourceType& type, const api::ObjectKey& key, const std::string& uid);

using api::EventKind;

/// One thing worth telling. `reason` and `action` are short CamelCase words (no action: the reason), `note` is for
/// people (cut at 1 KiB).
struct Event {
  EventKind kind = EventKind::kNormal;
  std::string reason{};
  std::string note{};
  std::string action{};
  EventObject regarding{};
  std::optional<EventObject> related{};
  bool also_on_related = false;  ///< told a second time, with `regarding` and `related` exchanged
  bool is_manual = false;        ///< of an Evacuation that no policy made; not sent to the server
  bool is_refusal = false;       ///< of an Evacuation that failed before its first attempt; not sent to the server

  static Event normal(api::EventReason reason, std::string note) { return of(EventKind::kNormal, reason, note); }
  static Event warning(api::EventReason reason, std::string note) { return of(EventKind::kWarning, reason, note); }

  /// The same about that object, told by what was done: "Evict", "Plan".
  Event about(EventObject object, std::string by_action) && {
    regarding = std::move(object);
    action = std::move(by_action);
    return std::move(*this);
  }

  friend bool operator==(const Event&, const Event&) = default;

 private:
  static Event of(EventKind kind, api::EventReason reason, std::string& note) {
    Event event;
    event.kind = kind;
    event.reason = to_string(reason);
    event.note = std::move(note);
    return event;
  }
};

/// Takes Events. Never blocks and never fails: losing one costs nothing but the note. Thread-safe.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void publish(Event event) = 0;
};

}  // namespace kube
