#pragma once

/// `evacuator explain`: explains why a pod is or is not moved, on a dump or on the live cluster. Unlike `kubectl
/// evacuator explain` it also reads dumps, policy files and the audit log.

#include <string>
#include <vector>

namespace cmd {

struct ExplainOptions {
  std::string pod;                      ///< NAME or pod/NAME
  std::string ns{};                     ///< if empty, that of the context, or "default" for a dump
  std::string snapshot{};               ///< dump (file or directory); if empty, the live cluster is read
  std::vector<std::string> policies{};  ///< policy files, evaluated in addition to the policies of the dump or cluster
  std::vector<std::string> audit{};     ///< audit log files with earlier decisions
  int newest = 10;                      ///< maximum number of audit log decisions
  std::string now{};                    ///< RFC 3339 time for a dump; if empty, the newest time in it
  std::string output = "text";          ///< text, json, yaml
  std::string kubeconfig{};
  std::string context{};
  std::string operator_namespace{};  ///< namespace of the operator's ConfigMap, evacuator-system if empty
};
int run_explain(const ExplainOptions& options);

}  // namespace cmd
