#pragma once

#include <string>
#include <vector>

namespace cmd {

/// Runs `evacuator ARGS…`. `args` excludes the program name. Returns the exit code of the command, 2 for invalid
/// arguments, 141 if standard output was closed.
int run_evacuator(const std::vector<std::string>& args);

}  // namespace cmd
