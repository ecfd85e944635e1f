#include <fmt/format.h>

#include <cstdio>

#include "cmd/commands.hpp"

namespace cmd {

int print_version(bool as_json) {
  if (as_json) {
    fmt::print("{{\"version\":\"{}\",\"compiler\":\"{}\"}}\n", EVACUATOR_VERSION, __VERSION__);
  } else {
    fmt::print("evacuator {}\n", EVACUATOR_VERSION);
  }
  return 0;
}

}  // namespace cmd
