#pragma once

#include <string>

namespace cmd {

struct ExtenderOptions {
  std::string config_file;
  std::string kubeconfig;  ///< if empty: KUBECONFIG, the pod's service account, ~/.kube/config
  std::string context;
  bool check_only = false;  ///< validate the configuration and exit
};
/// Runs `evacuator extender`: serves kube-scheduler until interrupted. Returns the exit code of the process.
int run_extender(const ExtenderOptions& options);

}  // namespace cmd
