#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "cmd/commands.hpp"
#include "cmd/once/watch.hpp"
#include "controllers/operator/operator_config.hpp"

namespace cmd {

/// The configuration file with the flags over it. `file_text` gets what the file said. kInvalid names what is wrong.
base::Result<controllers::OperatorConfig> load_operator_config(const RunOptions& options, std::string& file_text);

/// How long --once goes on, from now; nullopt: not --once. kInvalid names the flag, or the field of the configuration.
base::Result<std::optional<OnceWatch>> read_once(const RunOptions& options, const controllers::OperatorConfig& config);

/// The name of this replica: what was asked for, or one of this host that no other process has.
std::string identity_of(const RunOptions& options);

}  // namespace cmd
