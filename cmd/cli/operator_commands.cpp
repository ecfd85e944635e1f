#include "cmd/cli/commands.hpp"
#include "cmd/cli/parser.hpp"
#include "cmd/commands.hpp"
#include "cmd/plugin/commands.hpp"
#include "cmd/plugin/process_io.hpp"

namespace cmd {
namespace {

constexpr const char* kRunExamples = R"(
Examples:
  evacuator run                                     # the current context
  evacuator run --config operator.yaml --leader-elect=false
  evacuator run --once --once-timeout 30m           # for a CronJob
)";
constexpr const char* kUninstallExamples = R"(
Examples:
  evacuator uninstall --dry-run
  evacuator uninstall --yes && kubectl delete -k config/default
)";
constexpr const char* kUsageExamples = R"(
Examples:
  evacuator usage                                    # current values of the usage sources of all policies
  evacuator usage balance -o json
  kubectl exec -n evacuator-system deploy/evacuator -- evacuator usage   # with the credentials of the operator
)";
constexpr const char* kExtenderExamples = R"(
Examples:
  evacuator extender --config extender.yaml
  evacuator extender --config extender.yaml --check
)";

/// Adds --kubeconfig and --context for programs that usually run in a pod.
void add_cluster_flags_of_server(CLI::App& app, std::string& kubeconfig, std::string& context) {
  option(app, "--kubeconfig", kubeconfig, "FILE",
         "Kubeconfig file (default: $KUBECONFIG, the pod's service account, ~/.kube/config)");
  option(app, "--context", context, "NAME", "Kubeconfig context to use");
}

/// Adds flags for the cluster connection and the operator's namespace and identity.
void add_connection_flags(CLI::App& app, RunOptions& options) {
  add_cluster_flags_of_server(app, options.kubeconfig, options.context);
  option(app, "--config", options.config_file, "FILE", "Operator configuration (YAML); flags take precedence");
  option(app, "--namespace", options.ns, "NAME",
         "Namespace of the leader election Lease (default: the service account's, else evacuator-system)");
  option(app, "--identity", options.identity, "NAME", "Name of this replica (default: host name and a random suffix)");
}

/// Adds flags for the HTTP servers and leader election.
void add_serving_and_election(CLI::App& app, RunOptions& options) {
  option(app, "--health-address", options.health_address, "HOST:PORT",
         "Address of /healthz and /readyz (default 0.0.0.0:8081)");
  option(app, "--metrics-address", options.metrics_address, "HOST:PORT",
         "Address of /metrics: HTTPS with authorization, or plain HTTP on loopback (default 0.0.0.0:8443)");
  option(app, "--leader-elect", options.leader_elect, "BOOL", "Act only while holding the Lease (default true)");
  option(app, "--lease-duration", options.lease_duration, "DURATION",
         "Time before other replicas replace a leader that does not renew the Lease (default 15s)");
  option(app, "--renew-deadline", options.renew_deadline, "DURATION",
         "Time after the last renewal at which the leader stops acting (default 10s)");
  option(app, "--retry-period", options.retry_period, "DURATION",
         "Interval between attempts to acquire or renew the Lease (default 2s)");
}

/// Adds flags for rate limits, concurrency and logging.
void add_rates_and_log(CLI::App& app, RunOptions& options) {
  option(app, "--qps", options.qps, "N", "Requests per second to the API server (default 50)");
  option(app, "--burst", options.burst, "N", "Maximum burst of requests above --qps (default 100)");
  option(app, "--workers", options.workers, "N", "Maximum number of concurrent reconciles of Evacuations (default 32)");
  option(app, "--log-level", options.log_level, "LEVEL", "debug, info, warning or error (default info)");
  option(app, "--log-format", options.log_format, "FORMAT", "text or json (default text)");
}

void add_run_flags(CLI::App& app, RunOptions& options) {
  add_connection_flags(app, options);
  add_serving_and_election(app, options);
  add_rates_and_log(app, options);
  app.add_flag("--once", options.once,
               "Run one cycle of every policy and exit: 0 if all planned moves are complete, else 1");
  option(app, "--once-timeout", options.once_timeout, "DURATION", "With --once: maximum run time (default 1h)");
}

struct UninstallFlags {
  plugin::GlobalFlags global;
  plugin::UninstallOptions options;
  std::string timeout = "10m";
};

/// Same as `kubectl evacuator uninstall`.
int uninstall(const UninstallFlags& flags) {
  plugin::ProcessIo process;
  const auto timeout = plugin::parse_timeout("--timeout", flags.timeout);
  if (!timeout) return plugin::fail(process.io(), timeout.error());
  return plugin::with_session(flags.global, process.io(), [&](plugin::Session& session) {
    return plugin::run_uninstall(session, {flags.options.dry_run, flags.options.yes, *timeout});
  });
}

void add_uninstall_flags(CLI::App& app, UninstallFlags& flags) {
  add_cluster_flags(app, flags.global.kubeconfig, flags.global.context);
  defaulted(app, "--operator-namespace", flags.global.operator_namespace, "NAME", "Namespace of the operator's Lease");
  defaulted(app, "--timeout", flags.timeout, "DURATION", "Maximum time to wait for unfinished Evacuations");
  app.add_flag("--dry-run", flags.options.dry_run, "Only print what would be done");
  app.add_flag("-y,--yes", flags.options.yes, "Do not prompt for confirmation");
}

struct UsageFlags {
  plugin::GlobalFlags global;
  plugin::UsageOptions options;
};

/// Same as `kubectl evacuator usage`.
int show_usage(const UsageFlags& flags) {
  plugin::ProcessIo process;
  return plugin::with_session(flags.global, process.io(),
                              [&](plugin::Session& session) { return plugin::run_usage(session, flags.options); });
}

void add_usage_flags(CLI::App& app, UsageFlags& flags) {
  add_cluster_flags(app, flags.global.kubeconfig, flags.global.context);
  defaulted(app, "--operator-namespace", flags.global.operator_namespace, "NAME", "Namespace of the sources' Secrets");
  app.add_option("POLICY", flags.options.policy, "Name of the policy (default: all)");
  option(app, "-o,--output", flags.global.output, "FORMAT", "json or yaml (default: a table)")
      ->check(CLI::IsMember({"json", "yaml"}));
}

void add_extender_flags(CLI::App& app, ExtenderOptions& options) {
  option(app, "--config", options.config_file, "FILE", "The extender's configuration (YAML): docs/extender.md")
      ->required();
  add_cluster_flags_of_server(app, options.kubeconfig, options.context);
  app.add_flag("--check", options.check_only, "Only validate the configuration");
}

}  // namespace

void add_operator_commands(CLI::App& app, int& exit_code) {
  add_command(app, exit_code, "run", "Run the operator against a cluster", kRunExamples, add_run_flags, run_operator);
  add_command(app, exit_code, "uninstall",
              "Delete all policies and Evacuations, so that no finalizer blocks the deletion of the CRDs",
              kUninstallExamples, add_uninstall_flags, uninstall);
  add_command(app, exit_code, "usage", "Show the current values of the usage sources for each node", kUsageExamples,
              add_usage_flags, show_usage);
}

void add_extender(CLI::App& app, int& exit_code) {
  add_command(app, exit_code, "extender",
              "Serve kube-scheduler as an extender: filter and score nodes by measured load", kExtenderExamples,
              add_extender_flags, run_extender);
}

}  // namespace cmd
