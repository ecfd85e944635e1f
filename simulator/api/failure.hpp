#pragma once

/// Kubernetes error responses: metav1.Status bodies with the server's original messages.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "base/result.hpp"
#include "kube/resource.hpp"
#include "kube/transport.hpp"

namespace simulator {

/// An error response before it is converted to a metav1.Status.
struct Failure {
  int code = 500;
  std::string reason;  ///< StatusReason, such as "NotFound"
  std::string message;
  api::Json details;                           ///< omitted if null
  std::optional<base::seconds> retry_after{};  ///< the Retry-After header; details.retryAfterSeconds is separate
};

/// A value or an error response.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}            // NOLINT: implicit on purpose
  Outcome(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT: implicit on purpose

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& operator*() & { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  Failure& failure() { return std::get<1>(state_); }

 private:
  std::variant<T, Failure> state_;
};
using CheckResult = Outcome<base::Done>;

/// Returns "pods" or "evacuations.evacuator.dev".
std::string qualified(std::string_view group, std::string_view name);

Failure bad_request(std::string message);
Failure not_found(std::string_view group, std::string_view plural, std::string_view name);
Failure already_exists(std::string_view group, std::string_view plural, std::string_view name);
/// `why` follows `Operation cannot be fulfilled on <plural>.<group> "<name>": `.
Failure conflict(std::string_view group, std::string_view plural, std::string_view name, std::string_view why);
Failure forbidden(std::string_view group, std::string_view plural, std::string_view name, std::string_view why);
/// Returns 422: `<Kind>.<group> "<name>" is invalid: <path>: <message>`. Several errors are in brackets, with one cause
/// each.
Failure invalid_object(std::string_view group, std::string_view kind, std::string_view name,
                       const api::FieldErrors& errors);
/// Returns 422: `<kind>.meta.k8s.io "" is invalid: <path>: <message>`.
Failure invalid_options(std::string_view kind, std::string_view path, std::string_view message);
/// Returns the denial by an admission webhook. Codes below 400 become 400.
Failure denied_by_webhook(std::string_view webhook, std::int64_t code, std::string reason, std::string_view message);
/// Returns 410 for a resourceVersion or continue token that was compacted.
Failure expired(std::string message);
Failure method_not_allowed();
Failure unsupported_media_type(std::string_view given, std::string_view accepted);
Failure internal_error(std::string message);
/// Returns 422 for a patch that does not apply, without an object.
Failure unprocessable_patch();
/// Returns 404 for a path that is not a resource: `the server could not find the requested resource`.
Failure no_such_path();

/// Converts an error of the store to the API server's response. Messages of 404 and 409 are already Kubernetes' own.
Failure from_store(const base::Error& error, std::string_view group, std::string_view plural, std::string_view kind,
                   std::string_view name);

api::Json status_object(const Failure& failure);
kube::Response to_response(const Failure& failure);
kube::Response json_response(int code, const api::Json& body);
api::Json success_status();
/// Returns 201 for a subresource that creates no object.
kube::Response created_status();

}  // namespace simulator
