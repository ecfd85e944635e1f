#include "cmd/version/version.hpp"

#include <fmt/format.h>

#include "cmd/commands.hpp"
#include "cmd/output.hpp"

namespace cmd {

std::string version_of(std::string_view program) {
  return fmt::format("{} {} (commit {})", program, EVACUATOR_VERSION, build_commit());
}

int print_version(bool as_json) {
  if (as_json) {
    print_out("{{\"version\":\"{}\",\"commit\":\"{}\",\"compiler\":\"{}\"}}\n", EVACUATOR_VERSION, build_commit(),
              __VERSION__);
  } else {
    print_out("{}\n", version_of("evacuator"));
  }
  return 0;
}

}  // namespace cmd
