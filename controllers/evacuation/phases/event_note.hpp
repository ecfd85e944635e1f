#pragma once

#include <string>

#include "api/vocabulary/events.hpp"

namespace controllers {

/// A Kubernetes Event to be recorded: `message` is for people.
struct EventNote {
  api::EventKind kind = api::EventKind::kNormal;
  api::EventReason reason{};
  std::string message;
  bool also_on_pod = false;  ///< start and end are told on the pod, too, so that its owner sees them
  friend bool operator==(const EventNote&, const EventNote&) = default;
};

}  // namespace controllers
