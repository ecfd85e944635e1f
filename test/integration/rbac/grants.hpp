#pragma once

/// Rights that config/ grants to the operator's ServiceAccount, read from its files, and rights that a request needs.

#include <compare>
#include <set>
#include <string>
#include <vector>

#include "kube/transport.hpp"

namespace integration::rbac {

/// One verb on one resource, in RBAC's terms: "pods/eviction" is a separate resource.
struct Access {
  std::string group;
  std::string resource;
  std::string verb;
  auto operator<=>(const Access&) const = default;
};
/// Returns for example "patch pods" or "update virtualmachineinstances/evacuate.subresources.kubevirt.io".
std::string to_string(const Access& access);

struct Role {
  std::string file;  ///< relative to config/
  std::string name;
  std::set<Access> grants;
};

/// Returns the operator's roles that config/default binds, without the roles for users.
std::vector<Role> default_roles();
/// Returns the operator's roles of config/optional and config/surge.
std::vector<Role> optional_roles();
std::set<Access> all_grants(const std::vector<Role>& roles);

/// Returns what the server asks its authorizer for the request. Empty for paths that every authenticated user may read
/// (discovery) and for a SelfSubjectAccessReview. Two for a subresource of a subresource: see
/// config/rbac/operator_role.yaml.
std::vector<Access> accesses_of(const kube::Request& request);

/// Returns the annotation keys that config/optional/pod-write-limits.yaml allows the operator to write.
std::set<std::string> annotations_allowed_on_pods();

}  // namespace integration::rbac
