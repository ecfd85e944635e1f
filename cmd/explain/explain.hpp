#pragma once

/// `evacuator explain`: why a pod is (not) moved, on a dump or on the live cluster; `kubectl evacuator explain` beside
/// a dump, policy files and the audit log.

#include <string>
#include <vector>

namespace cmd {

struct ExplainOptions {
  std::string pod;                      ///< NAME or pod/NAME
  std::string ns{};                     ///< empty: the context's; on a dump "default"
  std::string snapshot{};               ///< dump, a file or directory; empty: the live cluster
  std::vector<std::string> policies{};  ///< files, judged beside those in the dump or on the cluster
  std::vector<std::string> audit{};     ///< log files: what was decided earlier
  int newest = 10;                      ///< of those decisions
  std::string now{};                    ///< RFC 3339, on a dump; empty: the newest time in it
  std::string output = "text";          ///< text, json, yaml
  std::string kubeconfig{};
  std::string context{};
  std::string operator_namespace{};  ///< where the operator's ConfigMap is; empty: evacuator-system
};
int run_explain(const ExplainOptions& options);

}  // namespace cmd
