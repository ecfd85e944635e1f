#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "kube/client.hpp"

namespace cmd {

/// A simulated cluster on the real clock, served over loopback for kubectl, with the operator running in this process.
class DemoCluster {
 public:
  /// Starts all components and writes a kubeconfig. `port` 0 selects a free port. Error messages name the port or the
  /// file.
  static base::Result<std::unique_ptr<DemoCluster>> start(int port, const std::string& kubeconfig_out);
  ~DemoCluster();

  kube::Client& admin();
  std::string server_url() const;
  std::string metrics_url() const;
  std::string kubeconfig_path() const;

  /// Waits up to 30 s until all pods that can run are running.
  void wait_until_settled();
  /// Stops the operator, the HTTP server and the cluster, in that order. Idempotent.
  void stop();

 private:
  struct Impl;
  explicit DemoCluster(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cmd
