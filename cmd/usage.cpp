#include "cmd/commands.hpp"
#include "cmd/plugin/commands.hpp"
#include "cmd/plugin/process_io.hpp"

namespace cmd {

int run_usage(const UsageFlags& flags) {
  plugin::ProcessIo process;
  plugin::GlobalFlags global;
  global.kubeconfig = flags.kubeconfig;
  global.context = flags.context;
  global.operator_namespace = flags.operator_namespace;
  global.output = flags.output;
  auto session = plugin::Session::connect(global, process.io());
  if (!session) return plugin::fail(process.io(), session.error());
  plugin::UsageOptions options;
  options.policy = flags.policy;
  return plugin::run_usage(**session, options);
}

}  // namespace cmd
