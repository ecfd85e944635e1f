#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/metrics.hpp"
#include "controllers/policy/cycle/cycle_trace.hpp"

namespace controllers {

/// Measures the duration of one phase of a cycle from construction to destruction. One series per phase, for all
/// policies together.
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
