#include <string>
#include <utility>

#include "base/allocator.hpp"
#include "cmd/commands.hpp"
#include "cmd/output.hpp"
#include "cmd/run/options.hpp"
#include "cmd/run/process.hpp"
#include "cmd/signals.hpp"
#include "cmd/version/version.hpp"
#include "controllers/operator/audit_config.hpp"
#include "kube/config/config.hpp"
#include "kube/config/process_environment.hpp"

namespace cmd {
namespace {

using base::kv;

base::Status run(const RunOptions& options) {
  std::string config_text;
  auto config = load_operator_config(options, config_text);
  if (!config) return config.error();
  const base::Log log = base::Log::to_stderr(config->log_level, config->log_format);
  const auto once = read_once(options, *config);
  if (!once) return once.error();
  static const base::SystemClock clock;
  auto cluster = kube::load_config({options.kubeconfig, options.context}, kube::child_environment(), clock);
  if (!cluster) return cluster.error();
  const Interrupted interrupted;  // must precede all threads
  const std::string identity = identity_of(options);
  log.info("starting", {kv("version", EVACUATOR_VERSION), kv("commit", build_commit()), kv("identity", identity)});
  const audit::Record loaded = controllers::record_of_configuration(*config, options.config_file, config_text);
  Process process(*std::move(config), identity, *std::move(cluster), log, *once);
  process.audit().record(loaded);
  return process.run(interrupted);
}

}  // namespace

int run_operator(const RunOptions& options) {
  base::configure_allocator();
  return exit_code_of("evacuator run", run(options));
}

}  // namespace cmd
