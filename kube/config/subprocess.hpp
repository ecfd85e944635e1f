#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace kube {

/// A program to run: looked up in PATH when `command` has no "/". It gets our environment plus `env`, an empty standard
/// input and a process group of its own.
struct Subprocess {
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  base::milliseconds timeout{60'000};
};

struct SubprocessOutput {
  int exit_code = 0;   ///< 128 + signal when it was killed
  std::string output;  ///< standard output, at most 1 MiB
  std::string errors;  ///< standard error on one line, at most 300 characters
};

/// Runs it to its end. kNotFound: no such program; kForbidden: not executable; kTimeout: killed with its whole group;
/// kInvalid: it printed more than 1 MiB. Blocks.
base::Result<SubprocessOutput> run(const Subprocess& process);

}  // namespace kube
