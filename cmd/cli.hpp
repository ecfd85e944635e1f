#pragma once

#include <string>
#include <vector>

#include "cmd/session/io.hpp"

namespace cmd {

/// Runs `evacuator ARGS…`. `args` excludes the program name. Returns the exit code of the command, 2 for invalid
/// arguments, 141 if standard output was closed.
int run_evacuator(const std::vector<std::string>& args);

namespace plugin {

/// Runs `kubectl evacuator ARGS…`. `args` excludes the program name. Returns the exit code of the process, 1 for
/// invalid arguments.
int run(const std::vector<std::string>& args, Io& io);

}  // namespace plugin
}  // namespace cmd
