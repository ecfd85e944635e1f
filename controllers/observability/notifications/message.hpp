#pragma once

/// Notifications for human operators and their message formats. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "controllers/observability/notifications/notifications_config.hpp"
#include "kube/runtime/event.hpp"

namespace controllers {

/// Order of sending. Manual Evacuations come last, because tenants can create any number of them.
enum class NotificationRank { kPolicy, kEvacuationOfPolicy, kManual };

/// One event that needs manual action.
struct Notification {
  std::string event;  ///< One of notification_events()
  base::TimePoint time;
  kube::EventObject object;  ///< An Evacuation or a DeschedulerPolicy
  std::string pod;           ///< Namespace/name; empty if there is none
  std::string reason;        ///< Reason of the Event
  std::string message;       ///< At most 1 KiB
  NotificationRank rank = NotificationRank::kPolicy;
  bool is_refusal = false;  ///< Whether an Evacuation failed before its first attempt

  /// Identifies the notification's event and object, for detecting repetitions.
  std::string key() const { return event + "/" + object.kind + "/" + object.uid + "/" + object.ns + "/" + object.name; }
};

/// Returns the notification for an Event, or nullopt if it needs no manual action.
std::optional<Notification> notification_of(const kube::Event& event, base::TimePoint now);

/// Returns the body of one message with all notifications. `left_out` is the number of notifications that were
/// dropped. Any text is escaped: it cannot inject markup or mentions, and the JSON is always valid.
std::string body_of(NotificationFormat format, const std::string& instance, const std::vector<Notification>& all,
                    std::int64_t left_out);

}  // namespace controllers
