#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "test/e2e/harness/api.hpp"

namespace e2e {

/// One eviction or deletion of a pod, as recorded by the server.
struct PodCall {
  enum class Kind { kEvict, kDelete };

  WallTime at;  ///< when the server received it
  Kind kind = Kind::kEvict;
  std::string user;
  std::string ns;
  std::string pod;
  std::string uid;  ///< UID precondition, empty if none
  int code = 0;     ///< status code of the answer
  /// The client had disconnected before the answer. The server records 500 or 504 whether or not it carried out the
  /// call.
  bool cut_off = false;

  bool granted() const { return kind == Kind::kEvict && code == 201; }
};

/// A Kubernetes cluster under test. The scenarios use nothing else of it.
class Environment {
 public:
  virtual ~Environment() = default;

  virtual std::string_view name() const = 0;
  virtual std::filesystem::path admin_kubeconfig() const = 0;
  /// Valid after install() of the suite has created the service account.
  virtual std::filesystem::path operator_kubeconfig() = 0;
  /// Returns the operator's user name in the server's records.
  virtual std::string operator_user() const { return "system:serviceaccount:evacuator-system:evacuator"; }
  /// Returns the server's minor version, queried once.
  virtual int minor() = 0;
  /// Returns the folder of the CRDs in the repository. Servers before 1.25 do not support CEL rules.
  std::string_view crds() { return minor() >= 25 ? "crds" : "crds/legacy"; }
  /// Returns the kustomization of the complete installation in the repository.
  std::string_view everything() { return minor() >= 25 ? "config/default" : "config/legacy"; }
  /// policy/v1 is served from 1.21 on, and policy/v1beta1 until 1.24. Evictions accept policy/v1 from 1.22 on.
  std::string_view pdb_version() { return minor() >= 22 ? "policy/v1" : "policy/v1beta1"; }
  virtual bool has_rbac() const = 0;

  /// Returns when the server no longer answers. Its state is kept.
  virtual void stop_apiserver() = 0;
  /// Returns when the server is ready, at the same address.
  virtual void start_apiserver() = 0;

  /// Returns all calls so far, oldest first, from the audit log or the simulator's journal.
  virtual std::vector<PodCall> pod_calls() = 0;
  /// Returns true if the operator listed `path` by a watch (sendInitialEvents) that the server accepted.
  virtual bool has_listed_by_watch(const std::string& path) = 0;
};

/// Reads EVACUATOR_E2E_TARGET: "simulator" (default) starts one, "real" uses the cluster of hack/cluster in CLUSTER_DIR
/// and starts it if necessary. Writes files below `scratch`.
std::unique_ptr<Environment> make_environment(const std::filesystem::path& scratch);

/// Parses "2026-03-01T12:00:00.123456Z". Throws Failure on other formats.
WallTime parse_time(const std::string& text);

/// Parses the answer of /version.
int minor_of(const std::string& version);

/// Returns the kubectl of KUBEBUILDER_ASSETS, like hack/cluster; otherwise "kubectl" from PATH.
std::string kubectl_binary();
/// Returns PATH with `folder` and KUBEBUILDER_ASSETS in front.
std::string path_with(const std::string& folder);

}  // namespace e2e
