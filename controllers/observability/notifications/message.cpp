#include "controllers/observability/notifications/message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace controllers {
namespace {

constexpr std::size_t kMaxMessage = 1024;
/// Slack truncates longer lines in the middle of our markup.
constexpr std::size_t kMaxSlackLine = 600;

std::string event_name(const kube::Event& event) {
  if (event.reason == to_string(api::EventReason::kFailed)) return "Failed";
  if (event.reason == to_string(api::EventReason::kCircuitOpened)) return "CircuitOpen";
  const bool is_stuck = event.reason == to_string(api::EventReason::kWriteRefused) ||
                        event.reason == to_string(api::EventReason::kSlotReturned);
  return is_stuck ? "Stuck" : "";
}

std::string place_of(const kube::EventObject& object) {
  return object.ns.empty() ? object.name : object.ns + "/" + object.name;
}

/// In Slack's format only these three characters can form markup: <!channel>, <url|text>, entities.
std::string slack_text(std::string_view foreign) {
  std::string text;
  for (const char c : base::truncate_utf8(foreign, kMaxSlackLine)) {
    switch (c) {
      case '&': text += "&amp;"; break;
      case '<': text += "&lt;"; break;
      case '>': text += "&gt;"; break;
      case '`':
      case '*':
      case '\n':
      case '\r': text += ' '; break;
      default: text += c;
    }
  }
  return text;
}

std::string_view headline(const std::string& event) {
  if (event == "Failed") return "An Evacuation failed";
  return event == "Stuck" ? "An Evacuation is stuck" : "The circuit breaker of a policy is open";
}

std::string slack_body(const std::string& instance, const std::vector<Notification>& all, std::int64_t left_out) {
  std::string text = fmt::format("*Evacuator* ({})", slack_text(instance));
  for (const Notification& each : all)
    text += fmt::format("\n• {}: `{}`: {}", headline(each.event), slack_text(place_of(each.object)),
                        slack_text(each.message));
  if (left_out > 0) text += fmt::format("\n• and {} more", left_out);
  return api::Json{{"text", text}}.dump(-1, ' ', false, api::Json::error_handler_t::replace);
}

std::string webhook_body(const std::string& instance, const std::vector<Notification>& all, std::int64_t left_out) {
  api::Json body = {
      {"version", 1}, {"instance", instance}, {"leftOut", left_out}, {"notifications", api::Json::array()}};
  for (const Notification& each : all) {
    api::Json one = {{"event", each.event},
                     {"time", base::format_time(each.time)},
                     {"object",
                      {{"apiVersion", each.object.api_version},
                       {"kind", each.object.kind},
                       {"name", each.object.name},
                       {"uid", each.object.uid}}},
                     {"reason", each.reason},
                     {"message", each.message}};
    if (!each.object.ns.empty()) one["object"]["namespace"] = each.object.ns;
    if (!each.pod.empty()) one["pod"] = each.pod;
    body["notifications"].push_back(std::move(one));
  }
  return body.dump(-1, ' ', false, api::Json::error_handler_t::replace);
}

}  // namespace

std::optional<Notification> notification_of(const kube::Event& event, base::TimePoint now) {
  const std::string name = event_name(event);
  const bool is_ours = event.regarding.kind == kube::kEvacuations.kind || event.regarding.kind == kube::kPolicies.kind;
  if (name.empty() || !is_ours) return std::nullopt;
  Notification told{name, now, event.regarding, {}, event.reason, base::truncate_utf8(event.note, kMaxMessage)};
  if (event.regarding.kind == kube::kEvacuations.kind)
    told.rank = event.is_manual ? NotificationRank::kManual : NotificationRank::kEvacuationOfPolicy;
  told.is_refusal = event.is_refusal;
  if (event.related && event.related->kind == kube::kPods.kind) told.pod = place_of(*event.related);
  return told;
}

std::string body_of(NotificationFormat format, const std::string& instance, const std::vector<Notification>& all,
                    std::int64_t left_out) {
  return format == NotificationFormat::kSlack ? slack_body(instance, all, left_out)
                                              : webhook_body(instance, all, left_out);
}

}  // namespace controllers
