#pragma once

/// The circuit breaker of a policy: when its evacuations keep leaving workloads without a Ready replacement, it stops
/// making more until a person says so. Pure.

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"

namespace controllers {

/// Which verdicts of a policy are in the stored state of its circuit. The cache may show one that is older than
/// counted_until only after that was stored.
class SeenVerdicts {
 public:
  /// False: it is counted. Until the first note() `counted_until` decides.
  bool is_new(const api::Evacuation& finished, base::TimePoint counted_until) const;
  void note(const std::vector<const api::Evacuation*>& finished);

 private:
  std::optional<std::unordered_set<std::string>> uids_;
};

/// The state that follows from the policy's Evacuations: those that finished since `before.counted_until` are taken in
/// order of their end. A success closes the row of failures; a replacement that never got Ready (T34) or is back
/// on the source node makes it longer, the latter not for strategies that renew pods wherever they run;
/// evacuations that never moved a pod say nothing. Where the policy's Evacuations are of several namespaces, at most
/// half of the row (rounded up) counts of any one of them, as far as its Evacuations are still kept: whoever lets
/// replacements fail in one namespace does not stop the policy for the others. At
/// `policy.spec.circuit_breaker.failures` in a row it opens. A new value of the annotation evacuator.dev/reset-circuit
/// closes it and forgets what finished until `now`. `seen_before`: those that an earlier state has, and then those of
/// this one; nullptr: counted_until alone decides.
api::PolicyCircuit next_circuit(const api::DeschedulerPolicy& policy,
                                const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations,
                                base::TimePoint now, SeenVerdicts* seen_before = nullptr);

/// Condition CircuitOpen, with the command that resets it.
api::Condition circuit_condition(const api::DeschedulerPolicy& policy, const api::PolicyCircuit& circuit);

}  // namespace controllers
