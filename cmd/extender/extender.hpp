#pragma once

#include <string>

namespace cmd {

struct ExtenderOptions {
  std::string config_file;
  std::string kubeconfig;  ///< empty: KUBECONFIG, the pod's service account, ~/.kube/config
  std::string context;
  bool check_only = false;  ///< read the configuration, say what is wrong with it, and end
};
/// `evacuator extender`: serves kube-scheduler until it is interrupted. Returns the process's exit code.
int run_extender(const ExtenderOptions& options);

}  // namespace cmd
