#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "base/metrics.hpp"
#include "controllers/policy/decide.hpp"

namespace controllers {

/// The series evacuator_policy_*: how policies stand, by name, and what their cycles did. Thread-safe, as the metrics
/// are.
class PolicyMetrics {
 public:
  explicit PolicyMetrics(base::Metrics& metrics) : metrics_(metrics) {}

  void on_status(const std::string& policy, const api::DeschedulerPolicyStatus& status) const;
  void on_circuit(const std::string& policy, bool open) const;
  /// A cycle begins that `trigger` called for.
  void on_triggered(const std::string& policy, api::TriggerKind trigger) const;
  /// A cycle is over. `policy`: with the status of before. `trace`: the cycle's, as exemplar; "": none.
  void on_cycle(const api::DeschedulerPolicy& policy, const CycleOutcome& outcome, const std::string& trace,
                base::TimePoint now) const;
  /// The policy is gone.
  void forget(const std::string& policy) const { metrics_.forget("policy", policy); }

 private:
  void set(const char* series, const char* help, const std::string& policy, double value) const;
  void publish_imbalance(const api::DeschedulerPolicy& policy, const std::vector<api::BalanceRow>& rows) const;
  void count_refusals(const std::string& policy, const std::vector<api::ReasonCount>& refused) const;

  base::Metrics& metrics_;
};

}  // namespace controllers
