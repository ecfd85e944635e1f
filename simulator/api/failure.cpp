#include "simulator/api/failure.hpp"

#include <fmt/format.h>

namespace simulator {
namespace {

using api::Json;

Json details_of(std::string_view group, std::string_view kind, std::string_view name) {
  Json details = Json::object();
  if (!name.empty()) details["name"] = name;
  if (!group.empty()) details["group"] = group;
  details["kind"] = kind;
  return details;
}

Failure about(int code, const char* reason, std::string_view group, std::string_view kind, std::string_view name,
              std::string message) {
  return {code, reason, std::move(message), details_of(group, kind, name)};
}

/// Returns the reason of a cause, derived from the prefix of Kubernetes' field error message.
std::string cause_reason(std::string_view message) {
  const std::pair<std::string_view, const char*> known[] = {
      {"Required value", "FieldValueRequired"},   {"Unsupported value", "FieldValueNotSupported"},
      {"Duplicate value", "FieldValueDuplicate"}, {"Forbidden", "FieldValueForbidden"},
      {"Not found", "FieldValueNotFound"},        {"Too long", "FieldValueTooLong"},
      {"Too many", "FieldValueTooMany"},
  };
  for (const auto& [prefix, reason] : known) {
    if (message.starts_with(prefix)) return reason;
  }
  return "FieldValueInvalid";
}

}  // namespace

std::string qualified(std::string_view group, std::string_view name) {
  return group.empty() ? std::string(name) : fmt::format("{}.{}", name, group);
}

Failure bad_request(std::string message) { return {400, "BadRequest", std::move(message), nullptr}; }

Failure not_found(std::string_view group, std::string_view plural, std::string_view name) {
  return about(404, "NotFound", group, plural, name,
               fmt::format("{} \"{}\" not found", qualified(group, plural), name));
}

Failure already_exists(std::string_view group, std::string_view plural, std::string_view name) {
  return about(409, "AlreadyExists", group, plural, name,
               fmt::format("{} \"{}\" already exists", qualified(group, plural), name));
}

Failure conflict(std::string_view group, std::string_view plural, std::string_view name, std::string_view why) {
  return about(409, "Conflict", group, plural, name,
               fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", qualified(group, plural), name, why));
}

Failure forbidden(std::string_view group, std::string_view plural, std::string_view name, std::string_view why) {
  return about(403, "Forbidden", group, plural, name,
               fmt::format("{} \"{}\" is forbidden: {}", qualified(group, plural), name, why));
}

Failure invalid_options(std::string_view kind, std::string_view path, std::string_view message) {
  return {422, "Invalid", fmt::format("{}.meta.k8s.io \"\" is invalid: {}: {}", kind, path, message), nullptr};
}

Failure invalid_object(std::string_view group, std::string_view kind, std::string_view name,
                       const api::FieldErrors& errors) {
  Json causes = Json::array();
  std::string text;
  for (const api::FieldError& error : errors) {
    causes.push_back({{"reason", cause_reason(error.message)}, {"message", error.message}, {"field", error.path}});
    if (!text.empty()) text += ", ";
    text += error.to_string();
  }
  if (errors.size() > 1) text = "[" + text + "]";
  Json details = details_of(group, kind, name);
  details["causes"] = std::move(causes);
  return {422, "Invalid", fmt::format("{} \"{}\" is invalid: {}", qualified(group, kind), name, text),
          std::move(details)};
}

Failure denied_by_webhook(std::string_view webhook, std::int64_t code, std::string reason, std::string_view message) {
  const std::string why = message.empty() ? " without explanation" : fmt::format(": {}", message);
  return {static_cast<int>(code < 400 ? 400 : code), std::move(reason),
          fmt::format("admission webhook \"{}\" denied the request{}", webhook, why), nullptr};
}

Failure expired(std::string message) { return {410, "Expired", std::move(message), nullptr}; }

Failure method_not_allowed() {
  return {405, "MethodNotAllowed", "the server does not allow this method on the requested resource", Json::object()};
}

Failure unsupported_media_type(std::string_view given, std::string_view accepted) {
  return {415, "UnsupportedMediaType",
          fmt::format("the body of the request was in an unknown format - accepted media types include: {} (got {})",
                      accepted, given),
          nullptr};
}

Failure internal_error(std::string message) {
  return {500, "InternalError", "Internal error occurred: " + std::move(message), nullptr};
}

Failure unprocessable_patch() {
  return {422, "Invalid", "the server rejected our request due to an error in our request", Json::object()};
}

Failure no_such_path() { return {404, "NotFound", "the server could not find the requested resource", Json::object()}; }

Failure from_store(const base::Error& error, std::string_view group, std::string_view plural, std::string_view kind,
                   std::string_view name) {
  switch (error.code) {
    case base::ErrorCode::kNotFound: return about(404, "NotFound", group, plural, name, error.message);
    case base::ErrorCode::kAlreadyExists: return about(409, "AlreadyExists", group, plural, name, error.message);
    case base::ErrorCode::kConflict: return about(409, "Conflict", group, plural, name, error.message);
    case base::ErrorCode::kGone: return expired(error.message);
    case base::ErrorCode::kInvalid: {
      const auto colon = error.message.find(": ");
      if (colon == std::string::npos) return bad_request(error.message);
      return invalid_object(group, kind, name, {{error.message.substr(0, colon), error.message.substr(colon + 2)}});
    }
    default: return internal_error(error.message);  // the store returns no other codes
  }
}

Json status_object(const Failure& failure) {
  Json body = {{"kind", "Status"},    {"apiVersion", "v1"},         {"metadata", Json::object()},
               {"status", "Failure"}, {"message", failure.message}, {"code", failure.code}};
  if (!failure.reason.empty()) body["reason"] = failure.reason;
  if (!failure.details.is_null()) body["details"] = failure.details;
  return body;
}

kube::Response to_response(const Failure& failure) {
  kube::Response response = json_response(failure.code, status_object(failure));
  response.retry_after = failure.retry_after;
  return response;
}

kube::Response json_response(int code, const Json& body) {
  return {code, api::to_json_text(body) + "\n", {}, "application/json"};
}

kube::Response created_status() {
  Json status = success_status();
  status["code"] = 201;
  return json_response(201, status);
}

Json success_status() {
  return {{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Json::object()}, {"status", "Success"}};
}

}  // namespace simulator
