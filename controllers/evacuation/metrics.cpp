#include "controllers/evacuation/metrics.hpp"

#include <fmt/format.h>

namespace controllers::evacuation {
namespace {

double seconds_between(base::TimePoint from, base::TimePoint to) {
  return std::max(0.0, static_cast<double>((to - from).count()) / 1e6);
}

std::string_view evictor_label(const api::EvacuationStatus& status) {
  return status.evictor.empty() ? std::string_view("none") : std::string_view(status.evictor);
}

/// Whether the last answer was "not now", without a request since. blocked_count also counts during rollbacks, hence
/// the check of the phase.
bool was_blocked(const api::EvacuationStatus& status) {
  const bool asks =
      status.phase == api::EvacuationPhase::kPreparing || status.phase == api::EvacuationPhase::kRequesting;
  return asks && status.blocked_since && status.blocked_count > 0 && status.last_response;
}

bool moved_on(const api::EvacuationStatus& before, const api::EvacuationStatus& after) {
  return before.phase != after.phase || after.blocked_count == 0 || !after.last_response ||
         after.last_response->time != before.last_response->time;
}

}  // namespace

void PrometheusMetrics::on_status(const api::Evacuation& before, const api::Evacuation& after, base::TimePoint now) {
  if (before.status.phase != after.status.phase) {
    on_phase_left(before, now);
    if (api::is_terminal(after.status.phase)) on_finished(after, now);
  }
  if (was_blocked(before.status) && moved_on(before.status, after.status)) {
    metrics_
        .counter("evacuator_evacuation_blocked_seconds_total",
                 "Time from a blocked response to the next response or to the end of the block, by class of response.",
                 {{"class", before.status.last_response->response_class}})
        .increment(seconds_between(before.status.last_response->time, now));
  }
  const bool aborted = before.status.phase == api::EvacuationPhase::kAborting;
  if (aborted && after.status.phase != api::EvacuationPhase::kAborting) {
    metrics_
        .counter("evacuator_evacuation_aborts_total", "Number of rollbacks, by result.",
                 {{"result", to_string(after.status.phase)}})
        .increment();
  }
}

void PrometheusMetrics::on_phase_left(const api::Evacuation& evacuation, base::TimePoint now) {
  const api::EvacuationStatus& before = evacuation.status;
  if (!before.phase_entered_at) return;
  metrics_
      .histogram("evacuator_evacuation_phase_duration_seconds", "Time spent in each phase.",
                 {0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400},
                 {{"evictor", evictor_label(before)}, {"phase", to_string(before.phase)}})
      .observe(seconds_between(*before.phase_entered_at, now), exemplar_of(evacuation, now));
}

void PrometheusMetrics::on_finished(const api::Evacuation& after, base::TimePoint now) {
  const api::EvacuationStatus& status = after.status;
  metrics_
      .counter("evacuator_evacuations_total", "Number of finished Evacuations.",
               {{"evictor", evictor_label(status)},
                {"adapter", status.adapter},
                {"result", to_string(status.phase)},
                {"reason", status.reason}})
      .increment();
  metrics_
      .histogram("evacuator_evacuation_attempts", "Number of attempts of finished Evacuations.",
                 {0, 1, 2, 3, 5, 10, 20})
      .observe(status.attempt, exemplar_of(after, now));
}

void PrometheusMetrics::on_answer(std::string_view action, int code, std::string_view response_class) {
  metrics_
      .counter("evacuator_requests_total",
               "Number of calls that move pods, by action and meaning of the response; code 0: no response.",
               {{"action", action}, {"code", fmt::format("{}", code)}, {"class", response_class}})
      .increment();
}

void PrometheusMetrics::on_refused_write() {
  metrics_
      .counter("evacuator_writes_refused_total", "Number of Evacuations whose status the API server refused to store.")
      .increment();
}

void PrometheusMetrics::on_cached(const api::Evacuation* before, const api::Evacuation* after) {
  const auto add = [&](const api::Evacuation& evacuation, double by) {
    metrics_
        .gauge("evacuator_evacuations", "Number of Evacuations, by phase.",
               {{"phase", to_string(evacuation.status.phase)}})
        .add(by);
  };
  if (before && after && before->status.phase == after->status.phase) return;
  if (before) add(*before, -1);
  if (after) add(*after, 1);
}

}  // namespace controllers::evacuation
