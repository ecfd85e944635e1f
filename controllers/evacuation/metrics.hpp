#pragma once

#include <functional>
#include <string>
#include <utility>

#include "base/metrics.hpp"
#include "controllers/evacuation/ports.hpp"

namespace controllers::evacuation {

/// Prometheus implementation of Metrics; docs/reference/metrics.md lists the series. Thread-safe.
class PrometheusMetrics final : public Metrics {
 public:
  /// Returns the trace ID of an Evacuation, empty if it has none. Called on any thread.
  using TraceOf = std::function<std::string(const api::Evacuation&)>;

  /// `trace_of` provides the exemplars of histograms; it may be empty.
  explicit PrometheusMetrics(base::Metrics& metrics, TraceOf trace_of = {})
      : metrics_(metrics), trace_of_(std::move(trace_of)) {}

  void on_status(const api::Evacuation& before, const api::Evacuation& after, base::TimePoint now) override;
  void on_answer(std::string_view action, int code, std::string_view response_class) override;

  void on_refused_write() override;

  /// Updates the gauge of Evacuations by phase from a cache event. nullptr: absent before or after the event.
  void on_cached(const api::Evacuation* before, const api::Evacuation* after);

 private:
  void on_finished(const api::Evacuation& after, base::TimePoint now);
  void on_phase_left(const api::Evacuation& before, base::TimePoint now);
  base::Exemplar exemplar_of(const api::Evacuation& evacuation, base::TimePoint now) const {
    return {trace_of_ ? trace_of_(evacuation) : std::string(), now};
  }

  base::Metrics& metrics_;
  const TraceOf trace_of_;
};

}  // namespace controllers::evacuation
