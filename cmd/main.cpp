#include <csignal>

#include "cmd/cli.hpp"
#include "kube/config/process_environment.hpp"

int main(int argc, char** argv) {
  kube::prepare_process();
  std::signal(SIGPIPE, SIG_IGN);
  return cmd::run_evacuator({argv + 1, argv + argc});
}
