#pragma once

/// Event (events.k8s.io/v1) as a value, and the interface that accepts it. events.hpp sends Events.

#include <optional>
#include <string>
#include <utility>

#include "api/meta/object_meta.hpp"
#include "api/vocabulary/events.hpp"
#include "kube/resource.hpp"

namespace kube {

/// Object that an Event refers to.
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

/// Content of an Event. `reason` and `action` are short CamelCase words; an empty action is replaced by the reason.
/// `note` is human-readable and truncated at 1 KiB.
struct Event {
  EventKind kind = EventKind::kNormal;
  std::string reason{};
  std::string note{};
  std::string action{};
  EventObject regarding{};
  std::optional<EventObject> related{};
  bool also_on_related = false;  ///< published a second time, with `regarding` and `related` exchanged
  bool is_manual = false;        ///< the Event is about a manual Evacuation; not sent to the server
  bool is_refusal = false;       ///< about an Evacuation that failed before its first attempt; not sent to the server

  static Event normal(api::EventReason reason, std::string note) { return of(EventKind::kNormal, reason, note); }
  static Event warning(api::EventReason reason, std::string note) { return of(EventKind::kWarning, reason, note); }

  /// Returns the Event with `regarding` and `action` set. Actions name what was done: "Evict", "Plan".
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

/// Accepts Events. Never blocks and never fails. A lost Event has no further effect. Thread-safe.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void publish(Event event) = 0;
};

}  // namespace kube
