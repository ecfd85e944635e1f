#pragma once

/// A simulated cluster behind HTTP and an operator that uses it, both in this process and in real time.

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/evacuation.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/metrics.hpp"
#include "controllers/operator/operator.hpp"
#include "kube/client.hpp"
#include "kube/http/transport.hpp"
#include "kube/rate_limiter.hpp"
#include "kube/runtime/events.hpp"
#include "simulator/api/server.hpp"
#include "simulator/cluster.hpp"
#include "simulator/http_server.hpp"

namespace bench {

/// Installs the CRDs and their validation. Throws std::runtime_error on failure.
void install_kinds(simulator::ApiServer& server);

/// Returns a bound pod that starts and stops immediately. `handoff` is the script of its operator
/// (simulator/operators/handoff_script.hpp), empty for a plain pod.
api::Json quick_pod(const std::string& name, int node, const std::string& handoff = {});
api::Evacuation evacuation_of(const std::string& pod);

/// Returns the value. Throws std::runtime_error with the error's message.
template <typename T>
T must(base::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

class World {
 public:
  static constexpr int kNodes = 50;

  World();
  ~World();

  /// Adds ready pods "<prefix>-00000" and so on.
  std::vector<std::string> add_pods(const std::string& prefix, int count, const std::string& handoff = {});
  void add_evacuation(const std::string& pod);
  /// Delays each eviction's answer by `delay` and counts the evictions.
  void delay_evictions(base::milliseconds delay);
  std::int64_t evictions();
  std::size_t evacuations_in(const std::string& phase);
  /// Returns the time of the first such call of each object, with the object's name.
  std::vector<std::pair<std::string, base::TimePoint>> calls(const std::string& resource,
                                                             const std::string& subresource);
  std::string uid_of(const std::string& pod);

  kube::Config config() const;

 private:
  base::SystemClock clock_;
  simulator::Cluster cluster_;
  simulator::ApiServer server_;
  simulator::HttpServer http_;
  simulator::SimulatorTransport transport_;
  kube::Client admin_;
  std::jthread actors_;
};

/// The operator as cmd/run/process.cpp assembles it, without leader election.
class RunningOperator {
 public:
  RunningOperator(const kube::Config& cluster, controllers::OperatorConfig config);
  ~RunningOperator();

  /// Returns when the caches are full. Call start_workers() to begin reconciling.
  void fill_caches();
  void start_workers();
  /// Waits until the workers have been idle for some seconds, so that a backlog is not part of the measurement.
  void await_rest();
  /// Returns the number of requests sent since the start, including watches.
  double requests() const { return static_cast<double>(limiter_.stats().granted); }

 private:
  double reconciles() const;

  base::SystemClock clock_;
  base::Metrics metrics_;
  kube::RateLimiter limiter_;
  std::unique_ptr<kube::HttpTransport> transport_;
  kube::Client client_;
  std::unique_ptr<kube::EventRecorder> events_;
  std::unique_ptr<controllers::Operator> operator_;
  std::jthread recorder_;
  std::jthread caches_;
  std::jthread workers_;
};

/// Waits until `holds` returns true, checked every 20 ms. Throws std::runtime_error with `what` after `limit`.
void await(const char* what, base::seconds limit, const std::function<bool()>& holds);

}  // namespace bench
