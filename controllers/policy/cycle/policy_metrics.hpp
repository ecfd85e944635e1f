#pragma once

#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "base/metrics.hpp"
#include "controllers/policy/decide.hpp"

namespace controllers {

/// Series evacuator_policy_*: state of policies by name, and results of their cycles. Thread-safe.
class PolicyMetrics {
 public:
  explicit PolicyMetrics(base::Metrics& metrics) : metrics_(metrics) {}

  void on_status(const std::string& policy, const api::DeschedulerPolicyStatus& status) const;
  void on_circuit(const std::string& policy, bool open) const;
  /// Counts a cycle that began because of `trigger`.
  void on_triggered(const std::string& policy, api::TriggerKind trigger) const;
  /// Records a finished cycle. `policy` has the previous status. `trace`: ID of the cycle's trace, "" if none.
  void on_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome, const std::string& trace,
                base::TimePoint now) const;
  /// Call when the policy is gone.
  void forget(const std::string& policy) const { metrics_.forget("policy", policy); }

 private:
  void set(const char* series, const char* help, const std::string& policy, double value) const;
  void publish_imbalance(const api::DeschedulerPolicy& policy, const std::vector<api::BalanceRow>& rows) const;

  base::Metrics& metrics_;
};

}  // namespace controllers
