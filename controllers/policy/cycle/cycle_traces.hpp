#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "controllers/observability/tracing/exporter.hpp"
#include "controllers/policy/cycle/cycle_trace.hpp"

namespace controllers {

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

}  // namespace controllers
