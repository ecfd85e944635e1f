#pragma once

/// What config/ lets the operator's ServiceAccount do, read from its files, and what a request asks for.

#include <compare>
#include <set>
#include <string>
#include <vector>

#include "kube/transport.hpp"

namespace integration::rbac {

/// One verb on one resource, as RBAC compares them: "pods/eviction" is a resource of its own.
struct Access {
  std::string group;
  std::string resource;
  std::string verb;
  auto operator<=>(const Access&) const = default;
};
/// "patch pods", "update virtualmachineinstances/evacuate.subresources.kubevirt.io".
std::string to_string(const Access& access);

struct Role {
  std::string file;  ///< below config/
  std::string name;
  std::set<Access> grants;
};

/// The roles of the operator that config/default binds; those for people are not among them.
std::vector<Role> default_roles();
/// The others: config/optional and config/surge.
std::vector<Role> optional_roles();
/// Every grant of the roles.
std::set<Access> all_grants(const std::vector<Role>& roles);

/// What the server asks its authorizer about the request. Empty: paths that every authenticated user may read
/// (discovery), and a SelfSubjectAccessReview. Two for a subresource of a subresource: see
/// config/rbac/operator_role.yaml.
std::vector<Access> accesses_of(const kube::Request& request);

/// The annotation keys that config/optional/pod-write-limits.yaml lets the operator write.
std::set<std::string> annotations_allowed_on_pods();

}  // namespace integration::rbac
