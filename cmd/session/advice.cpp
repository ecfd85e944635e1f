#include "cmd/session/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "api/meta/well_known.hpp"
#include "cmd/table.hpp"

namespace cmd::plugin {
namespace {

using base::ErrorCode;

bool is_ours(const kube::ResourceType& type) { return type.group == api::well_known::kGroup; }

std::string qualified(const kube::ResourceType& type) {
  return type.group.empty() ? std::string(type.plural) : fmt::format("{}.{}", type.plural, type.group);
}

std::string where(const Attempt& attempt) {
  if (!attempt.type.namespaced) return "in the whole cluster";
  return attempt.key.ns.empty() ? "in all namespaces" : "in namespace " + attempt.key.ns;
}

/// Returns the ClusterRole in config/rbac/user_roles.yaml that grants the permission.
std::string role_for(const Attempt& attempt) {
  const bool reads = attempt.verb == "get" || attempt.verb == "list" || attempt.verb == "watch";
  if (is_ours(attempt.type) && attempt.type.namespaced) {
    const std::string role = reads ? "evacuator-view" : "evacuator-edit";
    return fmt::format("the ClusterRole {} (part of {}) grants it", role, reads ? "view" : "edit");
  }
  return fmt::format("the ClusterRole evacuator-operator-user-{} grants it", reads ? "view" : "edit");
}

std::string forbidden(const Attempt& attempt) {
  return fmt::format("You need \"{}\" on {} {}; {}. Ask an administrator, or check with: kubectl auth can-i {} {}{}",
                     attempt.verb, qualified(attempt.type), where(attempt), role_for(attempt), attempt.verb,
                     qualified(attempt.type), attempt.type.namespaced && attempt.key.ns.empty() ? " -A" : "");
}

/// Returns true for the 404 of a server without our kinds, as opposed to the 404 of a missing object.
bool is_missing_kind(const base::Error& error, const kube::ResourceType& type) {
  return is_ours(type) && base::is_not_found(error) && error.message.find("\" not found") == std::string::npos;
}

std::string not_found(const base::Error& error, const Attempt& attempt) {
  if (is_missing_kind(error, attempt.type)) {
    return "Evacuator's custom resources are not installed in this cluster: kubectl apply -k config/crd (or choose "
           "another cluster with --context)";
  }
  if (error.message.find("namespaces \"") != std::string::npos) {
    return "Select an existing namespace with -n: kubectl get namespaces";
  }
  if (attempt.type == kube::kPods) {
    return fmt::format("Look for it with: kubectl get pods -A --field-selector metadata.name={}", attempt.key.name);
  }
  return {};
}

std::string way_out(const base::Error& error, const Attempt& attempt, const std::string& server,
                    const std::string& source) {
  switch (error.code) {
    case ErrorCode::kUnauthorized: return "The credentials of " + source + " are missing or expired: log in again";
    case ErrorCode::kForbidden: return forbidden(attempt);
    case ErrorCode::kNotFound: return not_found(error, attempt);
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
      return fmt::format("Server {} ({}): check that it is up and the context is correct, or raise --request-timeout",
                         server, source);
    case ErrorCode::kOutcomeUnknown:
      return "The result of the request is unknown: check kubectl evacuator status, then repeat the command; repeating "
             "it is safe";
    case ErrorCode::kThrottled: return "The server is overloaded: try again later";
    case ErrorCode::kConflict: return "The object was changed concurrently: try again";
    case ErrorCode::kInvalid:
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kGone:
    case ErrorCode::kCancelled:
    case ErrorCode::kUnsupported: return {};
  }
  std::abort();
}

bool came_from_server(ErrorCode code) {
  return code != ErrorCode::kUnavailable && code != ErrorCode::kTimeout && code != ErrorCode::kCancelled &&
         code != ErrorCode::kOutcomeUnknown;
}

}  // namespace

std::string advise(const base::Error& error, const Attempt& attempt, const std::string& server,
                   const std::string& source) {
  std::string text = came_from_server(error.code)
                         ? fmt::format("Error from server ({}): {}", base::to_string(error.code), error.message)
                         : fmt::format("Unable to {} {}: {}", attempt.verb, qualified(attempt.type), error.message);
  if (const std::string fix = way_out(error, attempt, server, source); !fix.empty()) text += "\n" + fix;
  return text;
}

std::string other_names(std::string_view wanted, std::vector<std::string> known) {
  if (known.empty()) return {};
  constexpr std::size_t kShown = 8;
  // Names that contain `wanted`, or that it contains, come first.
  const auto alike = [&](const std::string& name) {
    return name.find(wanted) != std::string::npos || wanted.find(name) != std::string::npos;
  };
  std::ranges::sort(known);
  std::stable_partition(known.begin(), known.end(), alike);
  return "There are: " + first_names(std::move(known), kShown);
}

std::string operator_warning(const base::Result<kube::LeaseRecord>& lease, const api::ObjectKey& lease_key,
                             base::TimePoint now) {
  if (lease ? lease->holder.empty() : base::is_not_found(lease.error()))
    return fmt::format(
        "no operator holds the Lease {}: no pods are moved until an operator runs (kubectl apply -k config/default). "
        "The operator may run in another namespace (--operator-namespace) or with --leader-elect=false",
        lease_key.to_string());
  const auto renewed = lease ? base::parse_time(lease->renew_time) : std::nullopt;
  if (!renewed) return {};
  const base::Duration patience = std::max<base::Duration>(base::minutes(1), lease->duration * 3);
  if (now - *renewed <= patience) return {};
  return fmt::format(
      "the operator ({}) has not renewed its Lease {} for {}: no pods are moved until it is back; check kubectl get "
      "pods -n {}",
      lease->holder, lease_key.to_string(), base::format_age(now - *renewed), lease_key.ns);
}

}  // namespace cmd::plugin
