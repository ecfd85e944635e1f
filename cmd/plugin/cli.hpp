#pragma once

#include <string>
#include <vector>

#include "cmd/session/io.hpp"

namespace cmd::plugin {

/// Runs `kubectl evacuator ARGS…`. `args` excludes the program name. Returns the exit code.
int run(const std::vector<std::string>& args, Io& io);

}  // namespace cmd::plugin
