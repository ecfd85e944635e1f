#pragma once

/// What is told to people, and how it is written. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "controllers/observability/notifications/notifications_config.hpp"
#include "kube/runtime/event.hpp"

namespace controllers {

/// Which notifications get places and are sent first. Tenants make as many manual Evacuations as they like.
enum class NotificationRank { kPolicy, kEvacuationOfPolicy, kManual };

/// One thing that needs a person.
struct Notification {
  std::string event;  ///< of notification_events()
  base::TimePoint time;
  kube::EventObject object;  ///< an Evacuation or a DeschedulerPolicy
  std::string pod;           ///< namespace/name; empty: there is none
  std::string reason;        ///< of the Event
  std::string message;       ///< at most 1 KiB
  NotificationRank rank = NotificationRank::kPolicy;
  bool is_refusal = false;  ///< an Evacuation that failed before its first attempt

  /// The same thing of the same object.
  std::string key() const { return event + "/" + object.kind + "/" + object.uid + "/" + object.ns + "/" + object.name; }
};

/// What the Event tells a person; nullopt: nothing that needs one.
std::optional<Notification> notification_of(const kube::Event& event, base::TimePoint now);

/// The body of one message that tells all of them. `left_out`: so many were not kept. Any text is written safely: it
/// makes no markup, no mention and no invalid JSON.
std::string body_of(NotificationFormat format, const std::string& instance, const std::vector<Notification>& all,
                    std::int64_t left_out);

}  // namespace controllers
