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

/// The trace of one planning cycle: its phases, and each strategy within the phase in which it was asked. Thread-safe.
class CycleTrace {
 public:
  /// `cycle` as in status.lastCycle.id; with the policy's UID it tells all cycles apart.
  CycleTrace(const std::string& policy, const std::string& uid, const std::string& cycle, base::TimePoint start);

  const std::string& id() const { return id_; }

  /// Another phase, or the same one a second time. What begins before the next one does belongs to it.
  void begin_phase(std::string_view phase, base::TimePoint now);
  void end_phase(std::string_view phase, base::TimePoint now);
  void begin_strategy(std::string_view strategy, base::TimePoint now);
  void end_strategy(std::string_view strategy, base::TimePoint now);
  /// The cycle has made the Evacuation of that UID.
  void link(const std::string& evacuation_uid);

  /// All spans, the cycle's own last. `attributes` go on that.
  std::vector<tracing::Span> finish(std::vector<tracing::Attribute> attributes, std::string problem,
                                    base::TimePoint now);

 private:
  // REQUIRE mutex_ held.
  void begin(std::map<std::string, tracing::Span, std::less<>>& open, std::string_view name, std::string parent,
             base::TimePoint now);
  void end(std::map<std::string, tracing::Span, std::less<>>& open, std::string_view name, base::TimePoint now);

  const std::string id_;
  std::mutex mutex_;
  tracing::Span cycle_;
  std::map<std::string, tracing::Span, std::less<>> phases_;      ///< that have not ended, by name
  std::map<std::string, tracing::Span, std::less<>> strategies_;  ///< likewise
  std::string phase_id_;                                          ///< of the one that began last
  std::vector<tracing::Span> ended_;
};

}  // namespace controllers
