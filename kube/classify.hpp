#pragma once

/// The parts of classify() (kube/client.hpp) that watches and evictors need, too. Pure; never throws on hostile bodies.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/transport.hpp"

namespace kube {

/// One of details.causes.
struct StatusCause {
  std::string reason;
  std::string message;
};

/// metav1.Status as far as it is read. `is_status` is false for anything else (HTML, plain text, truncated JSON).
struct StatusBody {
  bool is_status = false;
  int code = 0;
  std::string reason;
  std::string message;  ///< as sent: of any length, and not printable
  std::string name;     ///< details.name: the object that it speaks of
  std::vector<StatusCause> causes;
  std::optional<base::seconds> retry_after;  ///< details.retryAfterSeconds above 0, a day at most
};
StatusBody parse_status(std::string_view body);

/// A page of some proxy or login, whatever its content type says.
bool begins_like_html(std::string_view body);

/// The ErrorCode of an HTTP status outside 2xx. `reason` is Status.reason and only matters for 409.
base::ErrorCode code_of(int http_status, std::string_view reason);

/// Name of the one object that the request's path is about, be it the object itself or its status, scale or eviction.
/// Empty: a list, a create, discovery, any other subresource.
std::string object_named_by(const Request& request);

/// A 404 says that an object does not exist only as a metav1.Status that names this object. A proxy's page and a kind
/// that is not served at the moment are 404, too. Of a GET that is about no single object (a list, discovery) it says
/// that the path is not served, and only as a metav1.Status that speaks of nothing outside the path, or as the plain
/// text "404 page not found". Returns what any other such answer is instead: kUnavailable, which is tried again.
/// nullopt: the answer means what its code says. Some proxies have that very text, too: who knows from elsewhere that
/// the path is served (kube::Discovery) knows better.
std::optional<base::Error> doubtful_absence(const Request& request, const Response& response);

/// What a Status object means that came inside a watch (event ERROR).
base::Error error_of_status(std::string_view status_json);

/// Of an error of the client: RBAC has no such right for us ("… cannot patch resource …"), so that the server says no
/// for every object. Another 403 is about this one: a quota, an admission webhook, a namespace that is being deleted.
bool is_right_missing(const base::Error& error);

}  // namespace kube
