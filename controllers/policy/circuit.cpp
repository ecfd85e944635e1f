#include "controllers/policy/circuit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "api/meta/well_known.hpp"
#include "controllers/policy/condition.hpp"
#include "planner/strategies/lifetime/pod_criteria.hpp"
#include "planner/strategies/lifetime/pod_life_time.hpp"
#include "planner/strategies/lifetime/remove_failed_pods.hpp"
#include "planner/strategies/lifetime/remove_pods_having_too_many_restarts.hpp"

namespace controllers {
namespace {

/// Younger verdicts are left to the next cycle, because the cache may not show all that finished at the same time yet.
constexpr base::seconds kCircuitLag{2};

enum class Verification { kNone, kReady, kFailed };

/// Whether the strategy selects pods for their own state, so that a new pod on the same node is a success.
bool renews(std::string_view strategy) {
  constexpr std::array kRenewing = {strategies::PodLifeTime::kName, strategies::PodCriteria::kName,
                                    strategies::RemoveFailedPods::kName,
                                    strategies::RemovePodsHavingTooManyRestarts::kName};
  return std::find(kRenewing.begin(), kRenewing.end(), strategy) != kRenewing.end();
}

Verification verification_of(const api::Evacuation& evacuation) {
  const auto& status = evacuation.status;
  if (evacuation.spec.dry_run || !status.outcome) return Verification::kNone;
  const auto* ready = api::find_condition(status.conditions, api::ConditionType::kReplacementReady);
  if (!ready) return Verification::kNone;
  const bool same_node = ready->reason == api::Reason::kSameNode;
  if (ready->status == api::ConditionStatus::kTrue) return Verification::kReady;
  if (same_node && renews(evacuation.spec.source.strategy)) return Verification::kReady;
  return same_node || ready->reason == api::Reason::kReplacementTimeout ? Verification::kFailed : Verification::kNone;
}

/// Number of consecutive failures counted per namespace.
class FailureShares {
 public:
  /// `failures`: threshold of the circuit; `several`: the policy's Evacuations are in several namespaces.
  FailureShares(std::int32_t failures, bool several)
      : max_share_(several && failures > 1 ? (failures + 1) / 2 : std::numeric_limits<std::int32_t>::max()) {}

  void end_row() { counted_.clear(); }
  /// Returns false if the namespace has reached its share.
  bool add(const std::string& ns) {
    std::int32_t& counted = counted_[ns];
    if (counted >= max_share_) return false;
    ++counted;
    return true;
  }

 private:
  std::int32_t max_share_;
  std::map<std::string, std::int32_t> counted_;
};

void adopt(api::PolicyCircuit& circuit, const api::Evacuation& evacuation, const api::CircuitBreaker& breaker,
           FailureShares& shares) {
  circuit.counted_until =
      std::max(circuit.counted_until.value_or(base::TimePoint::min()), *evacuation.status.finished_at);
  const Verification seen = verification_of(evacuation);
  if (seen == Verification::kReady) shares.end_row();
  if (seen == Verification::kReady && !circuit.opened_at) circuit.failures = 0;
  if (seen != Verification::kFailed || !shares.add(evacuation.meta.ns)) return;
  ++circuit.failures;
  circuit.last_failure = evacuation.meta.key().to_string();
  if (breaker.failures > 0 && circuit.failures >= breaker.failures && !circuit.opened_at) {
    circuit.opened_at = evacuation.status.finished_at;
  }
}

}  // namespace

api::PolicyCircuit next_circuit(const api::DeschedulerPolicy& policy, const Evacuations& evacuations,
                                base::TimePoint now, SeenVerdicts* seen_before) {
  api::PolicyCircuit next = policy.status.circuit;
  const std::string& reset = policy.meta.annotations.value(api::well_known::kResetCircuitAnnotation);
  if (reset != next.reset) {
    next = {};
    next.reset = reset;
    next.counted_until = std::chrono::floor<base::seconds>(now);
    if (seen_before) *seen_before = {};
  }
  const base::TimePoint since = next.counted_until.value_or(base::TimePoint::min());
  std::vector<const api::Evacuation*> finished;
  for (const auto& each : evacuations) {
    const auto& at = each->status.finished_at;
    if (at && *at <= now - kCircuitLag) finished.push_back(each.get());
  }
  std::sort(finished.begin(), finished.end(), [](const auto* a, const auto* b) {
    return std::pair(*a->status.finished_at, a->meta.key()) < std::pair(*b->status.finished_at, b->meta.key());
  });
  const bool several =
      std::ranges::any_of(evacuations, [&](const auto& each) { return each->meta.ns != evacuations.front()->meta.ns; });
  FailureShares shares(policy.spec.circuit_breaker.failures, several);
  const bool in_a_row = next.failures > 0;  // whether verdicts counted before belong to the current failures
  for (const auto* each : finished) {
    if (seen_before ? seen_before->is_new(*each, since) : *each->status.finished_at > since) {
      adopt(next, *each, policy.spec.circuit_breaker, shares);
    } else if (const Verification seen = verification_of(*each); seen == Verification::kReady) {
      shares.end_row();
    } else if (in_a_row && seen == Verification::kFailed) {
      shares.add(each->meta.ns);
    }
  }
  if (policy.spec.circuit_breaker.failures == 0) next.opened_at.reset();
  if (seen_before) seen_before->note(finished);
  return next;
}

api::Condition circuit_condition(const api::DeschedulerPolicy& policy, const api::PolicyCircuit& circuit) {
  constexpr api::ConditionType kType = api::ConditionType::kCircuitOpen;
  const std::int64_t generation = policy.meta.generation;
  if (!circuit.opened_at) {
    std::string message = circuit.failures == 0 ? "replacements become Ready"
                                                : fmt::format("{} of {} failed verifications in a row",
                                                              circuit.failures, policy.spec.circuit_breaker.failures);
    return condition(kType, false, api::Reason::kVerificationsSucceed, std::move(message), generation);
  }
  return condition(
      kType, true, api::Reason::kVerificationFailing,
      fmt::format(
          "{} evacuations in a row left no Ready replacement on another node, or one on a node that the same plan "
          "empties; "
          "the newest is {}; no more pods are moved until you have found the cause and run: kubectl annotate dsp {} "
          "{}=\"$(date +%s)\" --overwrite",
          circuit.failures, circuit.last_failure, policy.meta.name, api::well_known::kResetCircuitAnnotation),
      generation);
}

}  // namespace controllers
