#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/metrics.hpp"
#include "controllers/operator/operator.hpp"
#include "kube/client.hpp"
#include "kube/runtime/events.hpp"
#include "simulator/api/server.hpp"

namespace soak {

/// One operator with its threads, within this process. Call start(), lead(), step_down() and stop() from one thread.
/// The other methods are thread-safe.
class LiveReplica {
 public:
  /// `gate_holds` is the answer of all gates. All references must outlive the object.
  LiveReplica(simulator::ApiServer& server, const base::Clock& clock, const std::string& identity,
              std::function<bool()> leads, const std::atomic<bool>& gate_holds);
  ~LiveReplica() { stop(); }
  LiveReplica(const LiveReplica&) = delete;
  LiveReplica& operator=(const LiveReplica&) = delete;

  /// Starts as a standby.
  void start();
  void lead();
  /// Returns once no worker acts any more.
  void step_down();
  void stop();

  const controllers::Operator& op() const { return operator_; }
  const base::Metrics& metrics() const { return metrics_; }

 private:
  simulator::SimulatorTransport transport_;
  kube::Client client_;
  kube::EventRecorder events_;
  base::Metrics metrics_;
  controllers::Operator operator_;
  std::jthread recorder_;
  std::jthread caches_;
  std::jthread workers_;
};

}  // namespace soak
