#pragma once

/// The section `audit:` of the operator's configuration file, and the log that it describes.

#include <memory>
#include <string>

#include "api/json/strict_object.hpp"
#include "controllers/operator/operator_config.hpp"
#include "telemetry/audit/log.hpp"

namespace controllers {

void read_audit(api::StrictObject& object, OperatorConfig::Audit& target);
void check_audit(const OperatorConfig::Audit& config, api::FieldErrors& errors);

/// Opens the log's sinks; `identity` names this replica as the actor. A sink that cannot be opened is a failing one.
/// `steady` as in audit::Log.
std::unique_ptr<audit::Log> open_audit_log(const OperatorConfig::Audit& config, const std::string& identity,
                                           const base::Clock& clock, base::Metrics& metrics, const base::Log& log,
                                           const base::Clock* steady = nullptr);

/// ConfigurationLoaded: what limits what, in the words of the configuration file. `file` may be empty: defaults and
/// flags; `text` is its content.
audit::Record record_of_configuration(const OperatorConfig& config, const std::string& file, const std::string& text);
/// LeadershipAcquired or LeadershipLost: of which Lease.
audit::Record record_of_leadership(const OperatorConfig& config, bool acquired);

}  // namespace controllers
