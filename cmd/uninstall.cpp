#include "cmd/commands.hpp"
#include "cmd/plugin/commands.hpp"
#include "cmd/plugin/process_io.hpp"

namespace cmd {

int run_uninstall(const UninstallFlags& flags) {
  plugin::ProcessIo process;
  const auto timeout = plugin::parse_timeout("--timeout", flags.timeout);
  if (!timeout) return plugin::fail(process.io(), timeout.error());
  plugin::GlobalFlags global;
  global.kubeconfig = flags.kubeconfig;
  global.context = flags.context;
  global.operator_namespace = flags.operator_namespace;
  auto session = plugin::Session::connect(global, process.io());
  if (!session) return plugin::fail(process.io(), session.error());
  return plugin::run_uninstall(**session, {flags.dry_run, flags.yes, *timeout});
}

}  // namespace cmd
