// Main function of the kubectl plugin. kubectl runs `kubectl-evacuator` from PATH for `kubectl evacuator …`.

#include <csignal>

#include "cmd/cli.hpp"
#include "cmd/output.hpp"
#include "cmd/plugin/process_io.hpp"
#include "kube/config/process_environment.hpp"

int main(int argc, char** argv) {
  kube::prepare_process();
  std::signal(SIGPIPE, SIG_IGN);
  cmd::plugin::ProcessIo process;
  return cmd::with_output("kubectl evacuator", [&] { return cmd::plugin::run({argv + 1, argv + argc}, process.io()); });
}
