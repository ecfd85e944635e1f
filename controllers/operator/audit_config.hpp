#pragma once

/// Section `audit:` of the operator's configuration file, and the audit log that it configures.

#include <memory>
#include <string>

#include "api/json/strict_object.hpp"
#include "controllers/operator/operator_config.hpp"
#include "telemetry/audit/log.hpp"

namespace controllers {

void read_audit(api::StrictObject& object, OperatorConfig::Audit& target);
void check_audit(const OperatorConfig::Audit& config, api::FieldErrors& errors);

/// Opens the sinks of the log. `identity` names this replica as the actor in records. A sink that cannot be opened
/// counts as failing. `steady` as in audit::Log.
std::unique_ptr<audit::Log> open_audit_log(const OperatorConfig::Audit& config, const std::string& identity,
                                           const base::Clock& clock, base::Metrics& metrics, const base::Log& log,
                                           const base::Clock* steady = nullptr);

/// Record of action ConfigurationLoaded. It lists the limits in the words of the configuration file. `file` is empty
/// if only defaults and flags apply; the digest of its content `text` is recorded.
audit::Record record_of_configuration(const OperatorConfig& config, const std::string& file, const std::string& text);
/// Record of action LeadershipAcquired or LeadershipLost, about the Lease of the leader election.
audit::Record record_of_leadership(const OperatorConfig& config, bool acquired);

}  // namespace controllers
