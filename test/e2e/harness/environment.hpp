#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "test/e2e/harness/api.hpp"

namespace e2e {

/// One request to the API server that asked a pod to go, as the server recorded it.
struct PodCall {
  enum class Kind { kEvict, kDelete };

  WallTime at;  ///< when the server received it
  Kind kind = Kind::kEvict;
  std::string user;
  std::string ns;
  std::string pod;
  std::string uid;  ///< the UID precondition; "" when there was none
  int code = 0;     ///< of the answer
  /// Its caller was gone before the answer: the server says 500 or 504 whether or not it had done it.
  bool cut_off = false;

  bool granted() const { return kind == Kind::kEvict && code == 201; }
};

/// A Kubernetes to test on. The scenarios know nothing else about it.
class Environment {
 public:
  virtual ~Environment() = default;

  virtual std::string_view name() const = 0;
  virtual std::filesystem::path admin_kubeconfig() const = 0;
  /// Valid once install() of the suite has made the service account.
  virtual std::filesystem::path operator_kubeconfig() = 0;
  /// The operator's user name in the server's records.
  virtual std::string operator_user() const { return "system:serviceaccount:evacuator-system:evacuator"; }
  /// Of the server's version, 1.<minor>: asked for once.
  virtual int minor() = 0;
  /// Folder of the CRDs, below the repository: servers before 1.25 know no CEL rules.
  std::string_view crds() { return minor() >= 25 ? "crds" : "crds/legacy"; }
  /// Kustomization of everything, below the repository.
  std::string_view everything() { return minor() >= 25 ? "config/default" : "config/legacy"; }
  /// Served from 1.21 on, and alone from 1.25 on. Evictions: kept from 1.22 on.
  std::string_view pdb_version() { return minor() >= 22 ? "policy/v1" : "policy/v1beta1"; }
  virtual bool has_rbac() const = 0;

  /// Returns when it no longer answers. State survives.
  virtual void stop_apiserver() = 0;
  /// Returns when it is ready, at the same address.
  virtual void start_apiserver() = 0;

  /// All so far, oldest first: the audit log or the simulator's journal.
  virtual std::vector<PodCall> pod_calls() = 0;
  /// The operator's list of `path` came by a watch (sendInitialEvents), and the server took that.
  virtual bool has_listed_by_watch(const std::string& path) = 0;
};

/// By EVACUATOR_E2E_TARGET: "simulator" (default) starts one, "real" uses the cluster of hack/cluster in CLUSTER_DIR
/// and starts it when it does not run. Files go below `scratch`.
std::unique_ptr<Environment> make_environment(const std::filesystem::path& scratch);

/// "2026-03-01T12:00:00.123456Z"; throws Failure on anything else.
WallTime parse_time(const std::string& text);

/// From the text of /version.
int minor_of(const std::string& version);

/// The kubectl of KUBEBUILDER_ASSETS, as hack/cluster takes it; otherwise "kubectl", which is looked for in PATH.
std::string kubectl_binary();
/// Our PATH behind `folder` and KUBEBUILDER_ASSETS.
std::string path_with(const std::string& folder);

}  // namespace e2e
