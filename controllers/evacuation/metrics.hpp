#pragma once

#include "base/metrics.hpp"
#include "controllers/evacuation/ports.hpp"

namespace controllers::evacuation {

/// Metrics as Prometheus series; the list is in docs/operations.md. Thread-safe.
class PrometheusMetrics final : public Metrics {
 public:
  explicit PrometheusMetrics(base::Metrics& metrics) : metrics_(metrics) {}

  void on_status(const api::Evacuation& before, const api::Evacuation& after, base::TimePoint now) override;
  void on_answer(std::string_view action, int code, std::string_view response_class) override;

  void on_refused_write() override;

  /// What the cache shows: keeps the gauge of Evacuations by phase. nullptr: absent.
  void on_cached(const api::Evacuation* before, const api::Evacuation* after);

 private:
  void on_finished(const api::Evacuation& after);
  void on_phase_left(const api::EvacuationStatus& before, base::TimePoint now);

  base::Metrics& metrics_;
};

}  // namespace controllers::evacuation
