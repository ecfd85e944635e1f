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

/// One process of the operator with its threads, within this one. start(), lead(), step_down() and stop() belong to one
/// thread; the rest may be asked by any.
class LiveReplica {
 public:
  /// `gate_holds` is what gates are told. All references outlive it.
  LiveReplica(simulator::ApiServer& server, const base::Clock& clock, const std::string& identity,
              std::function<bool()> leads, const std::atomic<bool>& gate_holds);
  ~LiveReplica() { stop(); }
  LiveReplica(const LiveReplica&) = delete;
  LiveReplica& operator=(const LiveReplica&) = delete;

  /// A standby from here on.
  void start();
  void lead();
  /// Returns when nobody acts any more.
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
