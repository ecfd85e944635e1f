#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "cmd/commands.hpp"
#include "cmd/once/watch.hpp"
#include "controllers/operator/operator_config.hpp"

namespace cmd {

/// Returns the configuration file overridden by flags. Stores the text of the file in `file_text`. Returns kInvalid
/// with the reason if it is invalid.
base::Result<controllers::OperatorConfig> load_operator_config(const RunOptions& options, std::string& file_text);

/// Returns the limits of --once starting now, nullopt without --once. Returns kInvalid with the name of the flag or
/// configuration field.
base::Result<std::optional<OnceWatch>> read_once(const RunOptions& options, const controllers::OperatorConfig& config);

/// Returns the identity of this replica: the configured one, or a unique one based on the host name.
std::string identity_of(const RunOptions& options);

}  // namespace cmd
