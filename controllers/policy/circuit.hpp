#pragma once

/// Circuit breaker of a policy: opens when its evacuations repeatedly leave workloads without a Ready replacement, and
/// then stops new ones until a manual reset. Pure.

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "controllers/policy/decide.hpp"

namespace controllers {

/// UIDs of the verdicts that are in the stored circuit state of a policy. Needed because the cache may show a verdict
/// older than counted_until only after that time was stored.
class SeenVerdicts {
 public:
  /// Whether the verdict is not counted yet. Before the first note() it is compared with `counted_until`.
  bool is_new(const api::Evacuation& finished, base::TimePoint counted_until) const {
    return uids_ ? !uids_->contains(finished.meta.uid) : *finished.status.finished_at > counted_until;
  }
  void note(const std::vector<const api::Evacuation*>& finished) {
    uids_.emplace();
    for (const auto* each : finished) uids_->insert(each->meta.uid);
  }

 private:
  std::optional<std::unordered_set<std::string>> uids_;
};

/// Returns the circuit state that follows from the policy's Evacuations. Processes those that finished since
/// `before.counted_until`, ordered by end:
/// * A success resets the number of consecutive failures, unless the circuit is open.
/// * A replacement that never got Ready (T34) or is back on the source node counts as a failure; the latter not for
///   strategies that renew pods wherever they run.
/// * An evacuation that did not move a pod is ignored.
/// If the policy's Evacuations are in several namespaces, at most half of the failures (rounded up) count for one
/// namespace, as far as its Evacuations still exist, so that failing replacements in one namespace do not stop the
/// policy for others. The circuit opens at `policy.spec.circuit_breaker.failures`. A new value of the annotation
/// evacuator.dev/reset-circuit closes it and ignores what finished until `now`. `seen_before` contains the verdicts of
/// the previous state and is updated to those of the returned one; nullptr compares with counted_until only.
api::PolicyCircuit next_circuit(const api::DeschedulerPolicy& policy, const Evacuations& evacuations,
                                base::TimePoint now, SeenVerdicts* seen_before = nullptr);

/// Condition CircuitOpen; its message contains the command that resets it.
api::Condition circuit_condition(const api::DeschedulerPolicy& policy, const api::PolicyCircuit& circuit);

}  // namespace controllers
