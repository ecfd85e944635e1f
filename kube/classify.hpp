#pragma once

/// Parts of classify() (kube/client.hpp) that watches and evictors also need. Pure; never throws on hostile bodies.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/transport.hpp"

namespace kube {

/// Entry of details.causes.
struct StatusCause {
  std::string reason;
  std::string message;
};

/// Fields of metav1.Status that are used. `is_status` is false for any other body (HTML, plain text, truncated JSON).
struct StatusBody {
  bool is_status = false;
  int code = 0;
  std::string reason;
  std::string message;  ///< as sent: of any length, may contain control characters
  std::string name;     ///< details.name: name of the object concerned
  std::vector<StatusCause> causes;
  std::optional<base::seconds> retry_after;  ///< details.retryAfterSeconds if above 0, at most one day
};
StatusBody parse_status(std::string_view body);

/// Returns true for an HTML page of a proxy or login, whatever its content type.
bool begins_like_html(std::string_view body);

/// Returns the ErrorCode of an HTTP status outside 2xx. `reason` is Status.reason and only matters for 409.
base::ErrorCode code_of(int http_status, std::string_view reason);

/// Returns the name of the object in the request's path, for the object itself and its subresources status, scale and
/// eviction. Empty for a list, a create, discovery and any other subresource.
std::string object_named_by(const Request& request);

/// Decides whether a 404 really means "absent". Pages of proxies and temporarily unserved kinds also give 404. For a
/// single object, a 404 is trusted only if it is a metav1.Status that names this object. For other GETs (list,
/// discovery), it is trusted only if it is a metav1.Status without a name outside the path, or the plain text "404 page
/// not found". Returns kUnavailable, which is retried, for any other 404. Returns nullopt if the answer means what its
/// code says. Some proxies send that plain text too, so callers that know from kube::Discovery that the path is served
/// must not trust it.
std::optional<base::Error> doubtful_absence(const Request& request, const Response& response);

/// Returns the error of a Status object received inside a watch (event ERROR).
base::Error error_of_status(std::string_view status_json);

/// Returns true if a client's error means that RBAC lacks a permission ("… cannot patch resource …"), so that the
/// server refuses every object. Any other 403 concerns one object: a quota, an admission webhook, a terminating
/// namespace.
bool is_right_missing(const base::Error& error);

}  // namespace kube
