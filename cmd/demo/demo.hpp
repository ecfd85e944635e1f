#pragma once

#include <string>

namespace cmd {

struct DemoOptions {
  int port = 0;                ///< 0: a free one
  std::string duration;        ///< empty: until the script is over; "forever": keep serving until Ctrl-C
  std::string kubeconfig_out;  ///< where to write the kubeconfig; empty: a temporary file
  bool plain = false;          ///< no colours, no redrawing
  double speed = 1.0;          ///< of the script
};
/// Returns the exit code of the process: 0 done, 1 failed. The reason of a failure is on standard error.
int run_demo(const DemoOptions& options);

}  // namespace cmd
