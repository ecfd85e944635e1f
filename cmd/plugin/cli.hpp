#pragma once

#include <string>
#include <vector>

#include "cmd/session/io.hpp"

namespace cmd::plugin {

/// `kubectl evacuator ARGS…` from its arguments (without the program's name) to its exit code.
int run(const std::vector<std::string>& args, Io& io);

}  // namespace cmd::plugin
