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
#include "controllers/advice/workloads.hpp"
#include "controllers/evacuation/origin/keys.hpp"
#include "controllers/evacuation/ports.hpp"
#include "controllers/observability/tracing/exporter.hpp"
#include "controllers/operator/operator_config.hpp"
#include "controllers/policy/gates/client.hpp"
#include "controllers/policy/once_run.hpp"
#include "controllers/policy/usage/wanted.hpp"
#include "kube/client.hpp"
#include "kube/runtime/event.hpp"
#include "telemetry/audit/log.hpp"

namespace controllers {

/// Everything between the API server and the reconcilers: caches, queues, workers and their event wiring. An Operator
/// serves no HTTP and takes no part in leader election; the caller reports leadership through `may_act`. All methods
/// are thread-safe with these exceptions: run_caches() and run_workers() may each be called by one thread only, and
/// step(), poll_caches() and reconcile_one() must share one thread and must not run concurrently with run_caches() or
/// run_workers().
class Operator {
 public:
  struct Dependencies {
    kube::Client& client;
    const base::Clock& clock;
    kube::Discovery discovery;
    OperatorConfig config;
    std::string identity;           ///< Identity of this replica in history entries and Events
    std::function<bool()> may_act;  ///< Checked before every call that changes something in the cluster
    kube::EventSink& events;
    base::Metrics& metrics;
    base::Log log;
    audit::Recorder& audit = audit::null_recorder();
    evacuation::ServiceCaller* services = nullptr;  ///< Nullptr if no service is configured
    KeySource& keys = process_keys();               ///< Keys that sign the objects that the operator creates
    /// Clock for delays, backoffs and ages, because a wall clock may be set. If nullptr, use `clock`.
    const base::Clock* steady = nullptr;
    /// Creates the sources that measure usage. If empty, the usage sources of policies return no data.
    UsageSourceFactory usage_sources = {};
    /// Creates the clients that query the gates of policies. If empty, gates never get an answer.
    GateClientFactory gates = {};
    /// Returns whether the placement webhook is installed and called, as far as is known. If empty, the webhook counts
    /// as not installed and no policy relies on it.
    std::function<bool()> hints_in_force = {};
    /// Samples the resource usage of containers for resourceAdvice. If empty, metrics.k8s.io is queried.
    advice::ContainerSampler container_samples = {};
    /// If true, each policy runs exactly one cycle, immediately. See once_report().
    bool once = false;
    SpanSink* spans = nullptr;  ///< Destination of traces. nullptr disables tracing.
  };

  /// All references must outlive the operator.
  explicit Operator(Dependencies dependencies);
  ~Operator();

  /// Fills and follows the caches until stopped, and publishes their ages. Standbys also run it, so that a new leader
  /// starts with warm caches.
  void run_caches(std::stop_token stop);

  /// Reconciles until stopped. Waits for the caches, lists the Evacuations again (a standby's watch may show stale
  /// slots), then runs the workers. Returns when all workers have ended.
  void run_workers(std::stop_token stop);

  /// For virtual time: makes one pass over caches and queues without waiting. Returns true if there was work.
  bool step();
  /// Cache half of step(), for tests that stop between the halves: applies pending watch events.
  bool poll_caches();
  /// Queue half of step(): reconciles one key. Returns false if the caches are not filled or no key is ready.
  bool reconcile_one();
  /// For virtual time: earliest time on the steady clock at which a delayed key is ready, nullopt if there is none.
  std::optional<base::TimePoint> next_due() const;

  /// Returns the placement webhook's response to an AdmissionReview, or nullopt if the review cannot be decoded. Any
  /// thread may call it, on standbys too.
  std::optional<std::string> review_pod(std::string_view review) const;

  /// Progress of a run with one cycle per policy. REQUIRES: Dependencies::once.
  OnceReport once_report() const;

  /// Responses of the webhooks for policies and Evacuations to an AdmissionReview, or nullopt if the review cannot be
  /// decoded. Any thread may call them, on standbys too.
  std::optional<std::string> validate_object(std::string_view review) const;
  std::optional<std::string> record_creator(std::string_view review) const;

  /// Returns whether all caches hold their first list.
  bool has_synced() const;
  /// Returns an error that names the first cache that is not filled or has not heard from its server for five minutes,
  /// or that reports missing signing keys.
  base::Status ready() const;
  /// Returns an error that names a worker whose reconcile has neither returned nor reported progress for minutes.
  base::Status alive() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace controllers
