/// The program evacuator-demo: a simulated cluster, the operator and a script in one process.

#include <CLI/CLI.hpp>
#include <csignal>

#include "cmd/demo/demo.hpp"
#include "cmd/output.hpp"
#include "kube/config/process_environment.hpp"

namespace {

constexpr const char* kExamples = R"(
Examples:
  evacuator-demo                                    # until the script is over
  evacuator-demo --duration forever --port 6443 --kubeconfig-out /tmp/demo.kubeconfig
)";

void add_options(CLI::App& app, cmd::DemoOptions& options) {
  app.add_option("--port", options.port,
                 "Serve the simulated Kubernetes API on this loopback port (default: a free one)")
      ->check(CLI::Range(0, 65535))
      ->type_name("PORT");
  app.add_option("--duration", options.duration,
                 "Stop after this long, such as 2m; 'forever' serves until Ctrl-C (default: when the script is over)")
      ->type_name("DURATION");
  app.add_option("--kubeconfig-out", options.kubeconfig_out, "Write the kubeconfig for kubectl here")
      ->type_name("FILE");
  app.add_option("--speed", options.speed, "Play the script faster or slower")
      ->check(CLI::Range(0.1, 20.0))
      ->type_name("X");
  app.add_flag("--plain", options.plain, "No colors, no redrawing (default when not on a terminal)");
  app.footer(kExamples);
}

}  // namespace

int main(int argc, char** argv) {
  kube::prepare_process();
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app("A simulated cluster, the operator and a script in one process", "evacuator-demo");
  cmd::DemoOptions options;
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  return cmd::with_output("evacuator-demo", [&] { return cmd::run_demo(options); });
}
