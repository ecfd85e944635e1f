#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
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

}  // namespace controllers
