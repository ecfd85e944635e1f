#pragma once

#include <optional>
#include <string>

#include "api/meta/object_meta.hpp"
#include "kube/resource.hpp"

namespace controllers {

/// The object an event is about.
struct EventTarget {
  kube::ResourceType type;
  api::ObjectKey key;
  std::string uid;
};

/// A note for people on an object (events.k8s.io/v1), as a value.
struct PublishedEvent {
  EventTarget regarding;
  std::optional<EventTarget> related{};
  bool warning = false;
  std::string reason;  ///< CamelCase, from the closed list of state-machine.md#events
  std::string action;  ///< CamelCase verb: "Evict", "Plan"
  std::string note;    ///< one sentence, at most 1 KiB
};

/// Takes events; never blocks, never fails: losing one costs nothing but the note. Thread-safe.
class EventPublisher {
 public:
  virtual ~EventPublisher() = default;
  virtual void publish(PublishedEvent event) = 0;
};

}  // namespace controllers
