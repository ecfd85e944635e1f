#pragma once

#include <string>

namespace controllers {

/// A Kubernetes Event to be recorded: `reason` CamelCase, `message` for people.
struct EventNote {
  bool warning = false;
  std::string reason;
  std::string message;
  bool also_on_pod = false;  ///< start and end are told on the pod, too, so that its owner sees them
  friend bool operator==(const EventNote&, const EventNote&) = default;
};

}  // namespace controllers
