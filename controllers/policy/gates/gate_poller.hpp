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
#include "controllers/policy/gates/client.hpp"
#include "controllers/policy/gates/verdict.hpp"
#include "kube/runtime/requeue.hpp"
#include "kube/runtime/slow_peer_limiter.hpp"
#include "kube/runtime/work_queue.hpp"

namespace controllers {

/// Asks the gates of all policies at their intervals and keeps their answers: planning and admission read what is there
/// and never wait. Keys of the queue are policy (as namespace) and gate; a worker of it blocks for as long as a gate's
/// server may take; those that do not answer leave workers to the others. An answer counts for three intervals.
/// Thread-safe.
class GatePoller {
 public:
  struct Dependencies {
    GateClientFactory make_client;  ///< empty: no gate is ever answered
    const base::Clock& clock;       ///< that answers age by; should be a steady one
    base::Log log;
    base::Metrics& metrics;
    /// Told without a lock held when what a policy's gates say is another thing than before. May be empty.
    std::function<void(const std::string& policy)> changed = {};
  };

  /// `queue` must outlive it.
  GatePoller(Dependencies dependencies, kube::WorkQueue& queue)
      : deps_(std::move(dependencies)), queue_(queue), limiter_(deps_.clock) {}

  /// The policy's gates from now on. What is known of those that stay as they are is kept.
  void set(const std::string& policy, const std::vector<api::PolicyGate>& gates,
           const std::vector<api::UsageSource>& sources);
  void drop(const std::string& policy) { set(policy, {}, {}); }

  /// Asks one gate and says when to come again. Never fails: why it has no answer is kept with it.
  base::Result<kube::Requeue> ask(const api::ObjectKey& key);

  /// As of now. Open for a policy that has no gates here.
  GateVerdict verdict(const std::string& policy) const;

 private:
  struct Gate {
    Gate(api::PolicyGate spec, api::UsageEndpoint endpoint) : spec(std::move(spec)), endpoint(std::move(endpoint)) {}
    const api::PolicyGate spec;
    const api::UsageEndpoint endpoint;
    kube::SlowPeerLimiter::Peer asked;
    std::mutex asking;                   ///< held while it is asked: by one worker at a time
    std::unique_ptr<GateClient> client;  ///< guarded by asking
    // Guarded by the keeper's mutex_.
    std::optional<GateAnswer> answer;
    base::TimePoint answered_at;
    std::string problem;  ///< of the last question; empty: it was answered
    bool was_asked = false;
  };
  using Gates = std::vector<std::shared_ptr<Gate>>;
  /// A verdict without its text.
  using LastVerdict = std::pair<GateVerdict::Kind, bool>;

  base::Result<GateAnswer> ask_now(const std::string& policy, Gate& gate);
  bool keep(const api::ObjectKey& key, Gate& gate, const base::Result<GateAnswer>& answer);
  std::shared_ptr<Gate> find(const api::ObjectKey& key) const;
  // All REQUIRE mutex_ held.
  GateVerdict verdict_of(const Gate& gate) const;
  GateVerdict verdict_of(const Gates& gates) const;
  void publish(const std::string& policy, const Gate& gate);
  void forget_series(const Gates& dropped);

  Dependencies deps_;
  kube::WorkQueue& queue_;
  kube::SlowPeerLimiter limiter_;
  mutable std::mutex mutex_;
  std::map<std::string, Gates> policies_;
  std::map<std::string, LastVerdict> told_;  ///< by policy, with the last change
};

}  // namespace controllers
