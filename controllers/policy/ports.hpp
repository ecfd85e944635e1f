#pragma once

/// What the policy controller sees of the rest of the operator, by subject. Members that may be empty say so.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "controllers/admission/cooldown.hpp"
#include "controllers/evacuation/origin/keys.hpp"
#include "controllers/policy/decide.hpp"
#include "controllers/policy/gates/answers.hpp"
#include "evictors/registry.hpp"
#include "kube/client.hpp"
#include "kube/runtime/event.hpp"
#include "kube/runtime/store.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace controllers {

class OnceRun;
class SpanSink;
class SoftTaints;
class Triggers;

struct PolicyClocks {
  const base::Clock& wall;    ///< of timestamps and schedules
  const base::Clock& steady;  ///< of durations
};

struct PolicyCaches {
  const kube::Store<ObservedPolicy>& policies;
  const kube::Store<api::Evacuation>& evacuations;  ///< with the index kByPolicy
  std::function<scheduling::SnapshotInput()> snapshot;
  /// Names of the caches that the server does not feed any more. While there is one no cycle runs, and condition
  /// Degraded names it. The component that notices a change enqueues the policies. May be empty.
  std::function<std::vector<std::string>()> stale = {};
  /// Objects that plans have to do without, for condition Warnings. May be empty.
  std::function<std::vector<std::string>()> unknown = {};
  /// Problems of a policy's Evacuations that they cannot store themselves, for condition Degraded. May be empty.
  std::function<std::vector<std::string>(const std::string& policy)> stuck = {};
};

struct PolicyMeasurements {
  const CooldownLedger& cooldowns;
  /// Measured usage for a policy. Never blocks. May be empty.
  std::function<UsageFigures(const std::string& policy)> usage = {};
  /// Verdict of a policy's gates. The gate poller enqueues the policies whose verdict changes. Empty: no gate holds.
  std::function<GateVerdict(const std::string& policy)> gates = {};
  /// The server is Kubernetes 1.`server_minor`; nullopt if unknown.
  std::optional<int> server_minor = {};
};

struct PolicySteering {
  Triggers* triggers = nullptr;  ///< make cycles run before their time; may be nullptr
  SoftTaints* taints = nullptr;  ///< nullptr: no node gets a soft taint
  /// Not nullptr: each policy has one cycle, now, whatever its interval or cron expression says, and reports it here.
  OnceRun* once = nullptr;
  /// True while new pods are given the placement hints of their Evacuations. Empty: never.
  std::function<bool()> hints_in_force = {};
  std::vector<std::string> namespaces_without_hints = {};  ///< namespaces whose new pods get no hints
};

struct PolicyLeadership {
  std::function<bool()> may_act;  ///< false: this replica does not lead (any more)
  /// Returns a heartbeat callback bound to the calling worker. Any thread working on this reconcile may call it;
  /// without it the liveness probe takes a long cycle for a hang. May be empty.
  std::function<std::function<void()>()> progress = {};
};

/// Never fails. Thread-safe. This base class records nothing.
class PolicyAudit {
 public:
  virtual ~PolicyAudit() = default;
  /// Reports a planned cycle before any Evacuation is created.
  virtual void on_planned(const api::DeschedulerPolicy& /*policy*/, const CycleOutcome& /*outcome*/) {}
  /// Reports that an Evacuation was created, or was not if `error` is set.
  virtual void on_created(const api::DeschedulerPolicy& /*policy*/, const api::PlannedMove& /*move*/,
                          const api::Evacuation& /*evacuation*/, const base::Error* /*error*/) {}
  /// Reports the end of the cycle.
  virtual void on_cycle(const api::DeschedulerPolicy& /*policy*/, const CycleOutcome& /*outcome*/) {}
  /// Reports that this generation of a policy is invalid.
  virtual void on_invalid(const api::ObjectMeta& /*policy*/, std::string_view /*problem*/) {}
  /// Call when the policy with this name was deleted; a later one with the same name is a new policy.
  virtual void forget(const std::string& /*policy*/) {}
  /// Returns why records cannot be written at present, empty if they can.
  virtual std::string failing() const { return {}; }
};
inline PolicyAudit& no_policy_audit() {
  static PolicyAudit none;
  return none;
}

struct PolicyPorts {
  kube::Client& client;
  PolicyClocks clocks;
  PolicyCaches caches;
  PolicyMeasurements measured;
  PolicySteering steering;
  PolicyLeadership leadership;
  const evictors::EvictorRegistry& evictors;
  kube::EventSink& events;
  base::Metrics& metrics;
  base::Log log;
  PolicyAudit& audit = no_policy_audit();
  KeySource& keys = process_keys();  ///< with which it signs the Evacuations that it makes
  SpanSink* spans = nullptr;         ///< of the traces of cycles; nullptr: there are none
};

}  // namespace controllers
