#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace kube {

/// Program to run, looked up in PATH if `command` has no "/". The child gets child_environment() plus `env`, an empty
/// standard input and its own process group.
struct Subprocess {
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  base::milliseconds timeout{60'000};
};

struct SubprocessOutput {
  int exit_code = 0;   ///< 128 + signal if it was killed
  std::string output;  ///< standard output, at most 1 MiB
  std::string errors;  ///< standard error on one line, at most 300 characters
};

/// Runs the program and blocks until it ends. Returns kNotFound if it does not exist, kForbidden if it is not
/// executable, kTimeout if it was killed with its process group, kInvalid if it printed more than 1 MiB.
base::Result<SubprocessOutput> run(const Subprocess& process);

}  // namespace kube
