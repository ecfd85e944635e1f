#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "controllers/advice/advice_poller.hpp"
#include "controllers/evacuation/origin/keys.hpp"
#include "controllers/evacuation/ports.hpp"
#include "controllers/observability/tracing/exporter.hpp"
#include "controllers/operator/operator_config.hpp"
#include "controllers/policy/gates/client.hpp"
#include "controllers/policy/once_run.hpp"
#include "controllers/policy/usage/collector.hpp"
#include "kube/client.hpp"
#include "kube/runtime/event.hpp"
#include "telemetry/audit/log.hpp"

namespace controllers {

/// Everything between the API server and the reconcilers: caches, queues, workers, and who wakes whom. It serves no
/// HTTP and takes no part in the election of the leader: whoever runs it says through `may_act` whether it leads. All
/// methods may be called by different threads, but run_caches() and run_workers() by one each, and step() and its
/// halves by one thread and not beside those.
class Operator {
 public:
  struct Dependencies {
    kube::Client& client;
    const base::Clock& clock;
    kube::Discovery discovery;
    OperatorConfig config;
    std::string identity;           ///< of this replica: history, events
    std::function<bool()> may_act;  ///< checked before every call that changes something
    kube::EventSink& events;
    base::Metrics& metrics;
    base::Log log;
    audit::Recorder& audit = audit::nowhere();
    evacuation::ServiceCaller* services = nullptr;  ///< nullptr: none is configured
    KeySource& keys = keys_in_memory();             ///< with which it signs what it makes
    /// What delays, back-offs and ages go by; a wall clock may be set at any time. nullptr: `clock`.
    const base::Clock* steady = nullptr;
    /// Makes what measures usage. Empty: policies' usage sources say nothing.
    UsageSourceFactory usage_sources = {};
    /// Makes what asks policies' gates. Empty: they are never answered.
    GateClientFactory gates = {};
    /// The placement webhook is installed and called, as far as is known. Empty: it is not, and no policy relies on it.
    std::function<bool()> hints_in_force = {};
    /// What containers use, for resourceAdvice. Empty: metrics.k8s.io is asked.
    advice::ContainerSampler container_samples = {};
    /// Each policy has one cycle, at once; see once_report().
    bool once = false;
    SpanSink* spans = nullptr;  ///< where traces go; nullptr: nothing is traced
  };

  /// All references must outlive the operator.
  explicit Operator(Dependencies dependencies);
  ~Operator();

  /// Fills and follows the caches until stopped, and publishes how old they are. Also for standbys: a new leader starts
  /// warm.
  void run_caches(std::stop_token stop);

  /// Reconciles until stopped: waits for the caches, lists the Evacuations anew (what a standby's watch shows of slots
  /// may be old), then runs the workers. Returns when all have ended.
  void run_workers(std::stop_token stop);

  /// Virtual time instead of threads: one pass over caches and queues without waiting. True if anything happened.
  bool step();
  /// Its halves, for tests that stop between them. Takes in what the watches bring.
  bool poll_caches();
  /// Reconciles one key. False: the caches are not filled, or nothing is ready.
  bool reconcile_one();
  /// When a queue has something to do by itself, by the steady clock; nullopt: never. For virtual time.
  std::optional<base::TimePoint> next_due() const;

  /// The answer of the placement webhook to an AdmissionReview; nullopt: it could not be read. Any thread, also of a
  /// standby.
  std::optional<std::string> review_pod(std::string_view review) const;

  /// How a run of one cycle stands. REQUIRES: Dependencies::once.
  OnceReport once_report() const;

  /// The answers of the webhooks about policies and Evacuations; as review_pod().
  std::optional<std::string> validate_object(std::string_view review) const;
  std::optional<std::string> record_creator(std::string_view review) const;

  /// All caches hold their first list.
  bool has_synced() const;
  /// An error names the first cache that is not filled, or that has lost its server for five minutes; or says that
  /// there are no keys.
  base::Status ready() const;
  /// An error names a worker that has not come back for minutes, and has made no progress meanwhile.
  base::Status alive() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace controllers
