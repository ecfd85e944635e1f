#pragma once

/// spec.gates of a DeschedulerPolicy: external conditions that block evictions while they hold
/// (docs/concepts/gates.md).

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/policy/usage_source.hpp"

namespace api {

enum class GateType {
  kPrometheus,    ///< holds while a PromQL expression has a result that is not 0
  kAlertmanager,  ///< holds while a matching alert is active
  kWebhook,       ///< holds while a service responds {"hold": true, "message": …}
};
std::string_view to_string(GateType type);

/// Effect of a query that fails.
enum class GateOnError { kHold, kIgnore };

struct PolicyGate {
  std::string name;  ///< DNS label, unique in the policy
  GateType type = GateType::kPrometheus;
  std::string source;  ///< kPrometheus: usage source whose server is queried, instead of `endpoint`
  UsageEndpoint endpoint;
  std::string query;                                          ///< kPrometheus: PromQL
  std::vector<std::pair<std::string, std::string>> matchers;  ///< kAlertmanager: labels, sorted by name
  base::Duration interval = base::seconds(30);                ///< 5s … 1h
  GateOnError on_error = GateOnError::kHold;
  friend bool operator==(const PolicyGate&, const PolicyGate&) = default;
};

/// Strict: errors are added to `errors`.
PolicyGate read_gate(const Json& json, const FieldPath& path, FieldErrors& errors);
Json encode_gate(const PolicyGate& gate);
void validate_gates(const std::vector<PolicyGate>& gates, const std::vector<UsageSource>& sources, const FieldPath& at,
                    FieldErrors& errors);

}  // namespace api
