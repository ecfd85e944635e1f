#pragma once

#include <string>
#include <vector>

namespace cmd {

/// `evacuator ARGS…` from its arguments (without the program's name) to its exit code: that of the command; 2 for
/// arguments that cannot be read; 141 when standard output was closed meanwhile.
int run_evacuator(const std::vector<std::string>& args);

}  // namespace cmd
