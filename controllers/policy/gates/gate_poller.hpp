#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/policy/gates.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "controllers/policy/gates/answers.hpp"
#include "controllers/policy/gates/client.hpp"
#include "kube/runtime/requeue.hpp"
#include "kube/runtime/slow_peer_limiter.hpp"
#include "kube/runtime/work_queue.hpp"

namespace controllers {

/// Polls the gates of all policies at their intervals and stores their answers, so that planning and admission never
/// block. Queue keys are policy (as namespace) and gate. A worker blocks up to the gate's timeout; slow servers are
/// limited so that they leave workers to others. An answer is valid for three intervals. Thread-safe.
class GatePoller {
 public:
  struct Dependencies {
    GateClientFactory make_client;  ///< empty: no gate is ever answered
    const base::Clock& clock;       ///< ages the answers; should be steady
    base::Log log;
    base::Metrics& metrics;
    /// Called without a lock when the verdict of a policy's gates changed. May be empty.
    std::function<void(const std::string& policy)> changed = {};
  };

  /// `queue` must outlive the object.
  GatePoller(Dependencies dependencies, kube::WorkQueue& queue)
      : deps_(std::move(dependencies)), queue_(queue), limiter_(deps_.clock) {}

  /// Sets the policy's gates. Keeps the answers of unchanged gates.
  void set(const std::string& policy, const std::vector<api::PolicyGate>& gates,
           const std::vector<api::UsageSource>& sources);
  void drop(const std::string& policy) { set(policy, {}, {}); }

  /// Asks one gate and returns when to ask again. Never fails; errors are stored with the gate.
  base::Result<kube::Requeue> ask(const api::ObjectKey& key);

  /// Current verdict. Open for a policy without gates.
  GateVerdict verdict(const std::string& policy) const;

 private:
  struct Gate {
    Gate(api::PolicyGate gate, api::UsageEndpoint server) : spec(std::move(gate)), endpoint(std::move(server)) {}
    const api::PolicyGate spec;
    const api::UsageEndpoint endpoint;
    kube::SlowPeerLimiter::Peer asked;
    std::mutex request_mutex;            ///< serializes requests to this gate
    std::unique_ptr<GateClient> client;  ///< guarded by asking
    // Guarded by GatePoller::mutex_.
    std::optional<GateAnswer> answer;
    base::TimePoint answered_at;
    std::string problem;  ///< of the last request, empty if it was answered
    bool was_asked = false;
  };
  using Gates = std::vector<std::shared_ptr<Gate>>;
  /// Verdict without its text.
  using LastVerdict = std::pair<GateVerdict::Kind, bool>;

  base::Result<GateAnswer> ask_now(const std::string& policy, Gate& gate);
  bool keep(const api::ObjectKey& key, Gate& gate, const base::Result<GateAnswer>& answer);
  std::shared_ptr<Gate> find(const api::ObjectKey& key) const;
  // All functions below REQUIRE mutex_ to be held.
  GateVerdict verdict_of(const Gate& gate) const;
  GateVerdict verdict_of(const Gates& gates) const;
  void publish(const std::string& policy, const Gate& gate);

  Dependencies deps_;
  kube::WorkQueue& queue_;
  kube::SlowPeerLimiter limiter_;
  mutable std::mutex mutex_;
  std::map<std::string, Gates> policies_;
  std::map<std::string, LastVerdict> told_;  ///< last notified verdict, by policy
};

}  // namespace controllers
