
#include "cmd/commands.hpp"
#include "cmd/output.hpp"

namespace cmd {

int print_version(bool as_json) {
  if (as_json) {
    print_out("{{\"version\":\"{}\",\"compiler\":\"{}\"}}\n", EVACUATOR_VERSION, __VERSION__);
  } else {
    print_out("evacuator {}\n", EVACUATOR_VERSION);
  }
  return 0;
}

}  // namespace cmd
