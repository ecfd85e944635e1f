#pragma once

#include <optional>
#include <string>

#include "controllers/evacuation/ports.hpp"
#include "controllers/observability/tracing/exporter.hpp"

namespace controllers {

/// Converts what the Evacuation controller sends to the audit log into spans, and forwards it. Thread-safe; never
/// blocks.
class EvacuationTracer final : public evacuation::Audit {
 public:
  /// All references must outlive this object. `spans` nullptr disables tracing.
  EvacuationTracer(evacuation::Audit& inner, SpanSink* spans, std::string replica)
      : inner_(inner), spans_(spans), replica_(std::move(replica)) {}

  void on_status(const api::Evacuation& before, const api::Evacuation& after, base::TimePoint now) override;
  void on_answer(const api::Evacuation& evacuation, const evictors::Action& action, const evictors::CallResult& answer,
                 const std::optional<api::LastResponse>& meaning, base::TimePoint now) override;
  std::string context_of_call(const api::Evacuation& evacuation, const evictors::Action& action,
                              base::TimePoint now) const override;
  void on_refused_write(const api::Evacuation& evacuation, const std::string& problem, base::TimePoint now) override {
    inner_.on_refused_write(evacuation, problem, now);
  }
  std::optional<api::Blocker> admission_blocker() const override { return inner_.admission_blocker(); }

  /// Adds the spans of an Evacuation that this replica takes over and has not seen before.
  void on_taken_over(const api::Evacuation& evacuation, base::TimePoint now);

  /// Returns the Evacuation's trace id, or an empty string if its trace is not sent.
  std::string trace_of(const api::Evacuation& evacuation) const;

 private:
  evacuation::Audit& inner_;
  SpanSink* const spans_;
  const std::string replica_;
};

}  // namespace controllers
