#pragma once

/// `notifications:` of the operator's configuration: whom to tell of what needs a person.

#include <string>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/strict_object.hpp"
#include "base/clock.hpp"

namespace controllers {

enum class NotificationFormat { kWebhook, kSlack };

/// One receiver. None is there by default.
struct NotificationChannel {
  std::string name{};  ///< DNS label; in logs and metrics
  NotificationFormat format = NotificationFormat::kWebhook;
  std::string url_file{};                               ///< holds the URL, which is a secret; read for each message
  std::string ca_file{};                                ///< empty: the system's roots
  std::vector<std::string> events{};                    ///< of notification_events(); empty: all
  base::Duration repeat_after = std::chrono::hours(1);  ///< the same about the same object is told no sooner
  base::Duration timeout = base::seconds(10);           ///< of one message: 1s … 30s
  bool omit_refused_manual = false;  ///< manual Evacuations that failed before their first attempt are not told of
  friend bool operator==(const NotificationChannel&, const NotificationChannel&) = default;
};

/// What can be told of: "Stuck", "Failed", "CircuitOpen".
const std::vector<std::string>& notification_events();

/// Reads the list, strictly; complaints go where the object's go.
void read_notifications(api::StrictObject& root, std::vector<NotificationChannel>& channels);
/// What no type can tell: names, bounds. Paths start at "notifications".
api::FieldErrors validate(const std::vector<NotificationChannel>& channels);

}  // namespace controllers
