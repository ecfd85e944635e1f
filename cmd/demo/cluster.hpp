#pragma once

#include <optional>
#include <string>
#include <thread>

#include "base/metrics.hpp"
#include "base/result.hpp"
#include "controllers/observability/metrics_server.hpp"
#include "controllers/operator/operator.hpp"
#include "kube/client.hpp"
#include "kube/runtime/events.hpp"
#include "kube/runtime/leader_election.hpp"
#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "simulator/http_server.hpp"

namespace cmd {

/// A simulated cluster on the real clock, served over loopback for kubectl, with the operator running in this process.
class DemoCluster {
 public:
  /// `port` 0 selects a free port.
  explicit DemoCluster(int port);
  ~DemoCluster() { stop(); }

  /// Starts all components and writes a kubeconfig. Error messages name the port or the file. Call once.
  base::Status start(const std::string& kubeconfig_out);

  kube::Client& admin() { return admin_; }
  std::string server_url() const { return http_.url(); }
  std::string metrics_url() const;
  const std::string& kubeconfig_path() const { return kubeconfig_; }

  /// Waits up to 30 s until all pods that can run are running.
  void wait_until_settled();
  /// Stops the operator, the HTTP server and the cluster, in that order. Idempotent.
  void stop();

 private:
  base::Status start_operator();
  bool is_settled();

  base::SystemClock clock_;
  simulator::Cluster cluster_;
  simulator::ApiServer server_;
  simulator::HttpServer http_;
  simulator::SimulatorTransport admin_transport_;
  kube::Client admin_;
  simulator::SimulatorTransport operator_transport_;
  kube::Client operator_client_;
  base::Metrics metrics_;
  kube::EventRecorder events_;
  kube::LeaderElector elector_;
  std::optional<controllers::Operator> operator_;
  std::optional<controllers::MetricsServer> metrics_server_;
  std::string kubeconfig_;
  bool owns_kubeconfig_ = false;
  bool stopped_ = false;
  std::jthread cluster_thread_;
  std::jthread caches_;
  std::jthread recorder_;
  std::jthread election_;
  std::jthread workers_;
};

}  // namespace cmd
