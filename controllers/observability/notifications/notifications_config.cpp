#include "controllers/observability/notifications/notifications_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/meta/names.hpp"

namespace controllers {
namespace {

constexpr std::size_t kMaxChannels = 8;

constexpr std::array kNotificationFormats = {
    api::WireName<NotificationFormat>{NotificationFormat::kWebhook, "Webhook"},
    api::WireName<NotificationFormat>{NotificationFormat::kSlack, "Slack"},
};

void check_channel(const NotificationChannel& channel, const api::FieldPath& at, api::FieldErrors& errors) {
  const auto require = [&](bool holds, const char* field, std::string message) {
    if (!holds) errors.push_back({at.field(field).text(), std::move(message)});
  };
  require(api::is_dns_label(channel.name), "name", "must be a name of at most 63 characters a-z, 0-9 and -");
  require(channel.url_file.starts_with("/"), "urlFile",
          "must be the path of a file that holds the URL, such as a key of a mounted Secret");
  require(channel.timeout >= base::seconds(1) && channel.timeout <= base::seconds(30), "timeout",
          "must be from 1s to 30s");
  require(channel.repeat_after >= base::minutes(1) && channel.repeat_after <= std::chrono::hours(24 * 7), "repeatAfter",
          "must be from 1m to 168h");
  for (std::size_t i = 0; i < channel.events.size(); ++i) {
    if (std::ranges::find(notification_events(), channel.events[i]) == notification_events().end())
      errors.push_back({at.field("events").index(i).text(),
                        fmt::format("must be one of {}", fmt::join(notification_events(), ", "))});
  }
}

}  // namespace

const std::vector<std::string>& notification_events() {
  static const std::vector<std::string> kEvents = {"Stuck", "Failed", "CircuitOpen"};
  return kEvents;
}

void read_notifications(api::StrictObject& root, std::vector<NotificationChannel>& channels) {
  root.for_each("notifications", [&](const api::Json& item, const api::FieldPath& path) {
    NotificationChannel channel;
    api::StrictObject object(item, path, root.errors());
    object.read("name", channel.name);
    object.read("format", kNotificationFormats, channel.format);
    object.read("urlFile", channel.url_file);
    object.read("caFile", channel.ca_file);
    object.read("events", channel.events);
    object.read("omitRefusedManual", channel.omit_refused_manual);
    object.read_duration("repeatAfter", channel.repeat_after);
    object.read_duration("timeout", channel.timeout);
    object.finish();
    channels.push_back(std::move(channel));
  });
}

api::FieldErrors validate(const std::vector<NotificationChannel>& channels) {
  api::FieldErrors errors;
  const api::FieldPath at("notifications");
  if (channels.size() > kMaxChannels)
    errors.push_back({at.text(), fmt::format("must have at most {} entries", kMaxChannels)});
  for (std::size_t i = 0; i < channels.size(); ++i) {
    check_channel(channels[i], at.index(i), errors);
    const auto first = std::ranges::find(channels, channels[i].name, &NotificationChannel::name);
    if (static_cast<std::size_t>(first - channels.begin()) < i)
      errors.push_back({at.index(i).field("name").text(), fmt::format("{} is listed twice", channels[i].name)});
  }
  return errors;
}

}  // namespace controllers
