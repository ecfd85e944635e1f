#include "kube/classify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/core/protobuf/envelope.hpp"
#include "api/json/json_access.hpp"
#include "kube/client.hpp"

namespace kube {
namespace {

using base::ErrorCode;

constexpr std::size_t kMaxStatus = 1 << 20;  // metav1.Status is small; a larger body is a foreign page
constexpr std::size_t kMaxMessage = 1024;

/// Returns one line of printable text, truncated to kMaxMessage.
std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMaxMessage)) {
    const bool blank = static_cast<unsigned char>(c) < 0x21 || c == 0x7f;
    if (!blank) out += c;
    if (blank && !out.empty() && out.back() != ' ') out += ' ';
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  if (text.size() > kMaxMessage) out += "…";
  return out;
}

bool looks_like_html(std::string_view content_type, std::string_view body) {
  return content_type.find("html") != std::string_view::npos || begins_like_html(body);
}

/// Returns a hint on the origin of an answer outside 2xx without a Status. An API server sends a Status with every 4xx
/// except 429.
std::string_view origin_hint(int status) {
  if (status == 401) return "; check the operator's credentials (ServiceAccount token or kubeconfig)";
  const bool is_proxy = status >= 400 && status < 500 && status != 404 && status != 429;
  return is_proxy ? "; a proxy in front of the API server may have responded: check the server's URL and HTTPS_PROXY"
                  : "";
}

/// Describes an answer without a Status: a proxy's page, plain text, or an empty body.
std::string foreign_message(const Response& response) {
  if (response.status >= 300 && response.status < 400)
    return fmt::format("HTTP {}: the server redirects, which is not supported; correct the server's URL",
                       response.status);
  if (looks_like_html(response.content_type, response.body))
    return fmt::format(
        "HTTP {} with an HTML page instead of JSON: something other than a Kubernetes API server responded (a proxy or "
        "a login page?); check the server's URL{}",
        response.status, response.status == 401 ? origin_hint(401) : "");
  const bool is_protobuf = api::protobuf::is_envelope(response.body);
  const std::string text = is_protobuf ? "{" : one_line(response.body);
  if (text.empty()) return fmt::format("HTTP {} with an empty body{}", response.status, origin_hint(response.status));
  if (text.front() == '{')
    return fmt::format("HTTP {} with a body that is not a Kubernetes Status{}", response.status,
                       origin_hint(response.status));
  return fmt::format("HTTP {}: {}{}", response.status, text, origin_hint(response.status));
}

/// Describes a Status without a message.
std::string default_message(const Response& response, const StatusBody& status) {
  const std::string reason = one_line(status.reason);
  return fmt::format("HTTP {}{}{}", response.status, reason.empty() ? "" : " ", reason);
}

/// Ignores a delay of zero, which would disable the backoff.
std::optional<base::Duration> retry_after_of(const StatusBody& status, std::optional<base::seconds> header) {
  if (header && *header > base::seconds(0)) return base::Duration(*header);
  if (status.retry_after) return base::Duration(*status.retry_after);
  return std::nullopt;
}

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    path.remove_prefix(path.front() == '/' ? 1 : 0);
    const auto end = std::min(path.find('/'), path.size());
    if (end > 0) segments.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return segments;
}

/// Subresources whose 404 concerns the object.
bool is_part_of_object(std::string_view subresource) {
  return subresource == "status" || subresource == "scale" || subresource == "eviction";
}

/// Returns true if the answer is one of the two forms in which a server reports that it does not serve a path.
bool denies_path(const Request& request, const StatusBody& status, std::string_view body) {
  if (!status.is_status) return body.starts_with("404 page not found");
  const auto segments = segments_of(request.path);
  return status.name.empty() || std::find(segments.begin(), segments.end(), status.name) != segments.end();
}

base::Error no_answer(const std::string& what, const StatusBody& status, const Response& response) {
  const std::string text = one_line(status.message);
  return base::unavailable(fmt::format("404, but the response does not report that {}: {}", what,
                                       text.empty() ? foreign_message(response) : text));
}

/// Returns true if a proxy sent this answer without a Status. Excludes 401, which reloads the credentials, 404, which
/// is judged separately unless it is HTML, and 429, which API servers also send as text.
bool is_proxy_answer(const Response& response) {
  if (response.status < 400 || response.status >= 500 || response.status == 401 || response.status == 429) return false;
  return response.status != 404 || looks_like_html(response.content_type, response.body);
}

}  // namespace

bool begins_like_html(std::string_view body) {
  const auto start = body.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && body[start] == '<';
}

StatusBody parse_status(std::string_view body) {
  StatusBody result;
  if (body.size() > kMaxStatus) return result;
  if (api::protobuf::is_envelope(body)) {
    const auto status = api::protobuf::status_json(body);
    return status ? parse_status(*status) : result;
  }
  const api::Json json = api::Json::parse(body, nullptr, false);
  if (api::text_at(json, {"kind"}) != "Status") return result;
  result.is_status = true;
  result.code = static_cast<int>(std::clamp<std::int64_t>(api::number_at(json, {"code"}).value_or(0), 0, 999));
  result.reason = api::text_at(json, {"reason"});
  result.message = api::text_at(json, {"message"});
  result.name = api::text_at(json, {"details", "name"});
  for (const api::Json& cause : api::items_at(json, {"details", "causes"})) {
    result.causes.push_back({api::text_at(cause, {"reason"}), api::text_at(cause, {"message"})});
  }
  // No server needs more than a day, and hostile numbers must not overflow a duration.
  const auto seconds = api::number_at(json, {"details", "retryAfterSeconds"});
  if (seconds && *seconds > 0) result.retry_after = base::seconds(std::min<std::int64_t>(*seconds, 86'400));
  return result;
}

ErrorCode code_of(int http_status, std::string_view reason) {
  switch (http_status) {
    case 401: return ErrorCode::kUnauthorized;
    case 402:
    case 403: return ErrorCode::kForbidden;
    case 404: return ErrorCode::kNotFound;
    case 405:  // unsupported verb
    case 406:  // unsupported Accept
    case 415:  // unsupported Content-Type
    case 501: return ErrorCode::kUnsupported;
    case 408:                                  // the server did not receive the whole request
    case 425: return ErrorCode::kUnavailable;  // the server refuses early data
    case 409: return reason == "AlreadyExists" ? ErrorCode::kAlreadyExists : ErrorCode::kConflict;
    case 410: return ErrorCode::kGone;
    case 412: return ErrorCode::kConflict;  // a precondition failed
    case 429: return ErrorCode::kThrottled;
    case 502:  // the gateway lost the server after sending
    case 504: return ErrorCode::kOutcomeUnknown;
    default: return http_status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kInvalid;
  }
}

std::string object_named_by(const Request& request) {
  std::vector<std::string_view> parts = segments_of(request.path);
  const std::size_t prefix = parts.empty() ? 0 : parts[0] == "api" ? 2 : parts[0] == "apis" ? 3 : 0;
  if (prefix == 0 || parts.size() <= prefix) return {};
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(prefix));
  if (parts[0] == "namespaces" && parts.size() > 2) parts.erase(parts.begin(), parts.begin() + 2);
  const bool is_object = parts.size() == 2 || (parts.size() == 3 && is_part_of_object(parts[2]));
  return is_object ? std::string(parts[1]) : std::string();
}

std::optional<base::Error> doubtful_absence(const Request& request, const Response& response) {
  if (response.status != 404) return std::nullopt;
  const std::string name = object_named_by(request);
  const StatusBody status = parse_status(response.body);
  if (name.empty()) {
    if (request.method != "GET" || denies_path(request, status, response.body)) return std::nullopt;
    return no_answer("the path is not served", status, response);
  }
  if (status.is_status && status.name == name) return std::nullopt;
  return no_answer(fmt::format("\"{}\" does not exist", name), status, response);
}

base::Error error_of_status(std::string_view status_json) {
  const StatusBody status = parse_status(status_json);
  if (!status.is_status) return base::unavailable("the server reported an error that is not a Kubernetes Status");
  std::string message = one_line(status.message);
  if (message.empty()) message = fmt::format("HTTP {} {}", status.code, status.reason);
  return {code_of(status.code == 0 ? 500 : status.code, status.reason), message, retry_after_of(status, {})};
}

base::Result<Response> classify(Response response) {
  const bool fine = response.status >= 200 && response.status < 300;
  if (fine && response.content_type.find("html") == std::string::npos) return response;
  if (fine) return base::unavailable(foreign_message(response));
  const StatusBody status = parse_status(response.body);
  std::string message = one_line(status.message);
  if (message.empty()) message = status.is_status ? default_message(response, status) : foreign_message(response);
  const bool is_foreign = !status.is_status && is_proxy_answer(response);
  const ErrorCode code = is_foreign ? ErrorCode::kUnavailable : code_of(response.status, status.reason);
  return base::Error{code, message, retry_after_of(status, response.retry_after)};
}

bool is_right_missing(const base::Error& error) {
  if (error.code != ErrorCode::kForbidden) return false;
  constexpr std::string_view kCannot = "cannot ";
  std::string_view text = error.message;
  const std::size_t at = text.find(kCannot);
  if (at == std::string_view::npos) return false;
  text.remove_prefix(at + kCannot.size());
  return text.substr(std::min(text.find(' '), text.size())).starts_with(" resource");
}

}  // namespace kube
