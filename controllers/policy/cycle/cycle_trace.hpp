#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "base/metrics.hpp"
#include "controllers/observability/tracing/exporter.hpp"
#include "telemetry/tracing/span.hpp"

namespace controllers {

/// Trace of one planning cycle: its phases, and each strategy within its phase. Thread-safe.
class CycleTrace {
 public:
  /// `cycle` is status.lastCycle.id; together with the policy's UID it identifies the cycle.
  CycleTrace(const std::string& policy, const std::string& uid, const std::string& cycle, base::TimePoint start);

  const std::string& id() const { return id_; }

  /// Begins a phase, possibly one that ran before. Strategies that begin before the next phase belong to it.
  void begin_phase(std::string_view phase, base::TimePoint now);
  void end_phase(std::string_view phase, base::TimePoint now);
  void begin_strategy(std::string_view strategy, base::TimePoint now);
  void end_strategy(std::string_view strategy, base::TimePoint now);
  /// Records that the cycle created the Evacuation with this UID.
  void link(const std::string& evacuation_uid);

  /// Returns all spans, that of the cycle last; `attributes` are added to it.
  std::vector<tracing::Span> finish(std::vector<tracing::Attribute> attributes, std::string problem,
                                    base::TimePoint now);

 private:
  // REQUIRE mutex_ to be held.
  void begin(std::map<std::string, tracing::Span, std::less<>>& open, std::string_view name, std::string parent,
             base::TimePoint now);
  void end(std::map<std::string, tracing::Span, std::less<>>& open, std::string_view name, base::TimePoint now);

  const std::string id_;
  std::mutex mutex_;
  tracing::Span cycle_;
  std::map<std::string, tracing::Span, std::less<>> phases_;      ///< unfinished phases, by name
  std::map<std::string, tracing::Span, std::less<>> strategies_;  ///< unfinished strategies, by name
  std::string phase_id_;                                          ///< of the phase that began last
  std::vector<tracing::Span> ended_;
};

/// Traces of the running planning cycles, one per policy, by policy name. begin(), drop() and end() must not run
/// concurrently with any other call; of() and link() are thread-safe otherwise.
class CycleTraces {
 public:
  /// `spans` receives the traces; nullptr disables tracing and makes all calls no-ops.
  explicit CycleTraces(SpanSink* spans) : spans_(spans) {}

  /// Begins the trace of cycle `cycle` (as in status.lastCycle.id), if the sink wants it.
  void begin(const api::ObjectMeta& policy, const std::string& cycle, base::TimePoint now);
  /// Trace of the policy's running cycle, valid until drop() or end(); nullptr if none exists or it is not traced.
  CycleTrace* of(const std::string& policy) const;
  /// ID of that trace, "" if none exists.
  std::string id_of(const std::string& policy) const;
  /// Links the Evacuation that the policy's cycle created. `made`: the server's answer.
  void link(const std::string& policy, std::string_view made) const;
  /// Discards the trace of a failed cycle.
  void drop(const std::string& policy) { traces_.erase(policy); }
  /// Ends the policy's cycle and sends its trace. `problem`: reason of a failure, "" if none.
  void end(const std::string& policy, const api::LastCycle& summary, std::string problem, base::TimePoint now);

 private:
  SpanSink* spans_;
  std::map<std::string, std::unique_ptr<CycleTrace>> traces_;
};

/// Measures one phase of a cycle, from construction to destruction. One series per phase, for all policies together.
class PhaseTimer {
 public:
  /// `phase` must outlive the object. `trace` belongs to the cycle; nullptr if it is not traced.
  PhaseTimer(base::Metrics& metrics, const base::Clock& clock, std::string_view phase, CycleTrace* trace)
      : metrics_(metrics), clock_(clock), phase_(phase), trace_(trace), began_(clock.now()) {
    if (trace_) trace_->begin_phase(phase_, began_);
  }
  ~PhaseTimer() {
    const base::TimePoint now = clock_.now();
    if (trace_) trace_->end_phase(phase_, now);
    metrics_
        .histogram("evacuator_planning_phase_duration_seconds", "Duration of the phases of planning cycles.",
                   {0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120}, {{"phase", phase_}})
        .observe(std::max(0.0, std::chrono::duration<double>(now - began_).count()),
                 {trace_ ? trace_->id() : std::string(), now});
  }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  base::Metrics& metrics_;
  const base::Clock& clock_;
  const std::string_view phase_;
  CycleTrace* const trace_;
  const base::TimePoint began_;
};

}  // namespace controllers
