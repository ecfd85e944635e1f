#pragma once

/// spec.gates of a DeschedulerPolicy: what holds evictions while it is true (docs/concepts/gates.md).

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/policy/usage_source.hpp"

namespace api {

enum class GateType {
  kPrometheus,    ///< a PromQL expression has a result that is not 0
  kAlertmanager,  ///< an alert that matches is active
  kWebhook,       ///< a service says {"hold": true, "message": …}
};
std::string_view to_string(GateType type);

/// What an unanswered question means.
enum class GateOnError { kHold, kIgnore };

struct PolicyGate {
  std::string name;  ///< DNS label, unique in the policy
  GateType type = GateType::kPrometheus;
  std::string source;  ///< kPrometheus: a usage source whose server is asked; or
  UsageEndpoint endpoint;
  std::string query;                                          ///< kPrometheus: PromQL
  std::vector<std::pair<std::string, std::string>> matchers;  ///< kAlertmanager: labels, sorted by name
  base::Duration interval = base::seconds(30);                ///< 5s … 1h
  GateOnError on_error = GateOnError::kHold;
  friend bool operator==(const PolicyGate&, const PolicyGate&) = default;
};

/// Strict: complaints go to the list.
PolicyGate read_gate(const Json& json, const FieldPath& path, FieldErrors& errors);
Json encode_gate(const PolicyGate& gate);
void validate_gates(const std::vector<PolicyGate>& gates, const std::vector<UsageSource>& sources, const FieldPath& at,
                    FieldErrors& errors);

}  // namespace api
