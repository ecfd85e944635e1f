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

/// The traces of the planning cycles that run, one a policy, by its name. begin(), drop() and end() may not run beside
/// any other call; of() and link() may be called by several threads meanwhile.
class CycleTraces {
 public:
  /// `spans`: where they go; nullptr: nothing is traced, and all calls do nothing.
  explicit CycleTraces(SpanSink* spans) : spans_(spans) {}

  /// The policy's cycle `cycle` (as in status.lastCycle.id) begins. Traced only if the sink wants it.
  void begin(const api::ObjectMeta& policy, const std::string& cycle, base::TimePoint now);
  /// Of the policy's cycle that runs; nullptr: none does, or it is not traced. Valid until drop() or end().
  CycleTrace* of(const std::string& policy) const;
  /// Its ID; "": there is none.
  std::string id_of(const std::string& policy) const;
  /// The policy's cycle has made the Evacuation `made`, as the server answered.
  void link(const std::string& policy, std::string_view made) const;
  /// The policy's cycle came to nothing.
  void drop(const std::string& policy) { traces_.erase(policy); }
  /// The policy's cycle is over: sends its trace. `problem`: what went wrong; "": nothing.
  void end(const std::string& policy, const api::LastCycle& summary, std::string problem, base::TimePoint now);

 private:
  SpanSink* spans_;
  std::map<std::string, std::unique_ptr<CycleTrace>> traces_;
};

}  // namespace controllers
