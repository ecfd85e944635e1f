#pragma once

/// Section `notifications:` of the operator's configuration: receivers of events that need manual action.

#include <string>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/strict_object.hpp"
#include "base/clock.hpp"

namespace controllers {

enum class NotificationFormat { kWebhook, kSlack };

/// One receiver. There is none by default.
struct NotificationChannel {
  std::string name{};  ///< DNS label, used in logs and metrics
  NotificationFormat format = NotificationFormat::kWebhook;
  std::string url_file{};             ///< File with the URL, which is a secret; read for each message
  std::string ca_file{};              ///< Empty means the system's roots
  std::vector<std::string> events{};  ///< Subset of notification_events(); empty means all
  /// Minimum time between notifications of the same event about the same object.
  base::Duration repeat_after = std::chrono::hours(1);
  base::Duration timeout = base::seconds(10);  ///< Per message, 1s … 30s
  bool omit_refused_manual = false;            ///< Omit manual Evacuations that failed before their first attempt
  friend bool operator==(const NotificationChannel&, const NotificationChannel&) = default;
};

/// Events that can be reported: "Stuck", "Failed", "CircuitOpen".
const std::vector<std::string>& notification_events();

/// Reads the list. Unknown fields are errors. Errors are added to the errors of `root`.
void read_notifications(api::StrictObject& root, std::vector<NotificationChannel>& channels);
/// Checks names and bounds. Paths of errors start at "notifications".
api::FieldErrors validate(const std::vector<NotificationChannel>& channels);

}  // namespace controllers
