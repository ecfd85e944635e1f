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
  /// Its caller was gone before the answer: the server says 500 "context canceled" whether or not it had done it.
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
  /// Folder of the CRDs, below the repository.
  virtual std::string_view crds() const = 0;
  /// Kustomization of everything, below the repository.
  virtual std::string_view everything() const = 0;
  virtual std::string_view pdb_version() const = 0;
  virtual bool has_rbac() const = 0;

  /// Returns when it no longer answers. State survives.
  virtual void stop_apiserver() = 0;
  /// Returns when it is ready, at the same address.
  virtual void start_apiserver() = 0;

  /// All so far, oldest first: the audit log or the simulator's journal.
  virtual std::vector<PodCall> pod_calls() = 0;
};

/// By EVACUATOR_E2E_TARGET: "simulator" (default) starts one, "real" uses the cluster of hack/cluster in CLUSTER_DIR
/// and starts it when it does not run. Files go below `scratch`.
std::unique_ptr<Environment> make_environment(const std::filesystem::path& scratch);

/// "2026-03-01T12:00:00.123456Z"; throws Failure on anything else.
WallTime parse_time(const std::string& text);

/// A TCP port of loopback that is free now.
std::uint16_t free_port();

}  // namespace e2e
