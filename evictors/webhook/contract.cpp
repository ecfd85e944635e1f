#include "evictors/webhook/contract.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "kube/escape.hpp"

namespace evictors::webhook {
namespace {

using api::Json;

constexpr std::array<std::string_view, 5> kStates = {"Accepted", "InProgress", "ReadyToEvict", "Moved", "Failed"};
constexpr std::size_t kMaxShortText = 253;
constexpr std::size_t kMaxLongText = 1024;

/// Replaces control characters by spaces and truncates between UTF-8 characters.
std::string tidy(std::string text, std::size_t most) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return base::truncate_utf8(text, most);
}

/// Reads members with strict types and keeps the first error.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  const Json* find(const char* name) const {
    const auto at = object_.find(name);
    return at == object_.end() || at->is_null() ? nullptr : &*at;
  }
  std::string text(const char* name, std::size_t most) {
    const Json* found = find(name);
    if (!found) return {};
    if (!found->is_string()) return complain(name, fmt::format("must be a string, not {}", found->type_name()));
    return tidy(found->get<std::string>(), most);
  }
  bool flag(const char* name) {
    const Json* found = find(name);
    if (!found) return false;
    if (found->is_boolean()) return found->get<bool>();
    complain(name, fmt::format("must be true or false, not {}", found->type_name()));
    return false;
  }
  std::optional<std::int32_t> percentage(const char* name) {
    const Json* found = find(name);
    if (!found) return std::nullopt;
    const bool whole = found->is_number_integer();
    const bool fits = whole && *found >= 0 && *found <= 100;
    if (fits) return found->get<std::int32_t>();
    complain(name, "must be a whole number from 0 to 100");
    return std::nullopt;
  }
  std::optional<base::TimePoint> time(const char* name) {
    const std::string value = text(name, kMaxShortText);
    if (value.empty()) return std::nullopt;
    const auto parsed = base::parse_time(value);
    if (!parsed) complain(name, "must be an RFC 3339 time such as 2026-11-21T12:30:00Z");
    return parsed;
  }
  std::string complain(const char* name, const std::string& text) {
    if (complaint_.empty()) complaint_ = fmt::format("{}: {}", name, text);
    return {};
  }
  const std::string& complaint() const { return complaint_; }

 private:
  const Json& object_;
  std::string complaint_;
};

bool is_camel_case(std::string_view text) {
  for (const char c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c))) return false;
  }
  return !text.empty() && std::isupper(static_cast<unsigned char>(text.front())) && text.size() <= 64;
}

ServiceStatus read_fields(Fields& fields) {
  ServiceStatus status;
  const std::string state = fields.text("state", kMaxShortText);
  if (const auto known = parse_service_state(state)) {
    status.state = *known;
  } else {
    fields.complain("state", fmt::format("must be one of {}, not \"{}\"", fmt::join(kStates, ", "), tidy(state, 40)));
  }
  const std::string who = fields.text("evictBy", kMaxShortText);
  if (who == "service") status.evict_by = EvictBy::kService;
  if (!who.empty() && who != "service" && who != "controller")
    fields.complain("evictBy", fmt::format("must be service or controller, not \"{}\"", tidy(who, 40)));
  status.progress = fields.percentage("progress");
  status.expected_completion = fields.time("expectedCompletion");
  status.message = fields.text("message", kMaxLongText);
  status.reason = fields.text("reason", kMaxShortText);
  if (!status.reason.empty() && !is_camel_case(status.reason))
    fields.complain("reason", "must be one CamelCase word of at most 64 characters");
  status.retryable = fields.flag("retryable");
  status.target = fields.text("target", kMaxShortText);
  status.heartbeat = fields.text("heartbeat", kMaxShortText);
  if (status.state == ServiceState::kReadyToEvict && status.evict_by == EvictBy::kService)
    fields.complain("state", "ReadyToEvict requires evictBy controller; with evictBy service the end state is Moved");
  if (status.state == ServiceState::kMoved && status.evict_by == EvictBy::kController)
    fields.complain("state", "Moved requires evictBy service; with evictBy controller the end state is ReadyToEvict");
  return status;
}

kube::Request request_for(std::string method, std::string_view token) {
  kube::Request request;
  request.method = std::move(method);
  request.path = path_of(token);
  return request;
}

}  // namespace

std::string_view to_string(ServiceState state) { return kStates.at(static_cast<std::size_t>(state)); }

std::optional<ServiceState> parse_service_state(std::string_view text) {
  for (std::size_t i = 0; i < kStates.size(); ++i) {
    if (kStates[i] == text) return static_cast<ServiceState>(i);
  }
  return std::nullopt;
}

std::string_view to_string(EvictBy who) { return who == EvictBy::kService ? "service" : "controller"; }

base::Result<ServiceStatus> parse_service_status(std::string_view body, std::string_view token) {
  if (body.size() > kMaxAnswerBytes)
    return base::invalid(fmt::format("the response has {} bytes, more than {}", body.size(), kMaxAnswerBytes));
  auto json = api::parse_json_unique(body);
  if (!json) return std::move(json).error().during("the response is not valid JSON");
  if (!json->is_object()) return base::invalid("the response is not a JSON object");
  Fields fields(*json);
  const std::string version = fields.text("apiVersion", kMaxShortText);
  const std::string echoed = fields.text("token", kMaxShortText);
  const ServiceStatus status = read_fields(fields);
  if (version.empty() && fields.complaint().empty()) fields.complain("apiVersion", "is required");
  if (echoed.empty() && fields.complaint().empty()) fields.complain("token", "is required");
  if (!version.empty() && version != kApiVersion)
    return base::Error{base::ErrorCode::kConflict,
                       fmt::format("apiVersion: must be {}, not \"{}\"", kApiVersion, tidy(version, 60))};
  if (!fields.complaint().empty()) return base::invalid(fields.complaint());
  if (echoed != token)
    return base::Error{base::ErrorCode::kConflict,
                       fmt::format("token: the response is about \"{}\", not about {}", tidy(echoed, 60), token)};
  return status;
}

bool may_follow(ServiceState before, ServiceState after) {
  if (after == ServiceState::kFailed) return before != ServiceState::kMoved;
  if (before == ServiceState::kFailed || before == ServiceState::kMoved) return after == before;
  if (before == ServiceState::kReadyToEvict) return after != ServiceState::kAccepted;
  return static_cast<int>(after) >= static_cast<int>(before);
}

std::string path_of(std::string_view token) { return "/v1/evacuations/" + kube::escape_segment(token); }

kube::Request start_request(std::string_view token, const Json& body) {
  kube::Request request = request_for("POST", token);
  request.content_type = "application/json";
  request.body = api::to_json_text(body);
  request.flow = kube::Flow::kWrite;
  return request;
}

kube::Request status_request(std::string_view token) { return request_for("GET", token); }

kube::Request abort_request(std::string_view token) {
  kube::Request request = request_for("DELETE", token);
  request.accept = "*/*";  // the body is not read
  request.flow = kube::Flow::kWrite;
  return request;
}

}  // namespace evictors::webhook
