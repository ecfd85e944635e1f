#include "cmd/cli/commands.hpp"

#include <CLI/CLI.hpp>

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

/// Adds flags for the cluster connection and the operator's namespace and identity.
void add_connection_flags(CLI::App& app, RunOptions& options) {
  app.add_option("--kubeconfig", options.kubeconfig,
                 "Kubeconfig file (default: $KUBECONFIG, the pod's service account, ~/.kube/config)")
      ->type_name("FILE");
  app.add_option("--context", options.context, "Kubeconfig context to use")->type_name("NAME");
  app.add_option("--config", options.config_file, "Operator configuration (YAML); flags take precedence")
      ->type_name("FILE");
  app.add_option("--namespace", options.ns,
                 "Namespace of the leader election Lease (default: the service account's, else evacuator-system)")
      ->type_name("NAME");
  app.add_option("--identity", options.identity, "Name of this replica (default: host name and a random suffix)")
      ->type_name("NAME");
}

/// Adds flags for the HTTP servers and leader election.
void add_serving_and_election(CLI::App& app, RunOptions& options) {
  app.add_option("--health-address", options.health_address, "Address of /healthz and /readyz (default 0.0.0.0:8081)")
      ->type_name("HOST:PORT");
  app.add_option("--metrics-address", options.metrics_address,
                 "Address of /metrics: HTTPS with authorization, or plain HTTP on loopback (default 0.0.0.0:8443)")
      ->type_name("HOST:PORT");
  app.add_option("--leader-elect", options.leader_elect, "Act only while holding the Lease (default true)")
      ->type_name("BOOL");
  app.add_option("--lease-duration", options.lease_duration,
                 "Time before other replicas replace a leader that does not renew the Lease (default 15s)")
      ->type_name("DURATION");
  app.add_option("--renew-deadline", options.renew_deadline,
                 "Time after the last renewal at which the leader stops acting (default 10s)")
      ->type_name("DURATION");
  app.add_option("--retry-period", options.retry_period,
                 "Interval between attempts to acquire or renew the Lease (default 2s)")
      ->type_name("DURATION");
}

/// Adds flags for rate limits, concurrency and logging.
void add_rates_and_log(CLI::App& app, RunOptions& options) {
  app.add_option("--qps", options.qps, "Requests per second to the API server (default 50)")->type_name("N");
  app.add_option("--burst", options.burst, "Maximum burst of requests above --qps (default 100)")->type_name("N");
  app.add_option("--workers", options.workers, "Maximum number of concurrent reconciles of Evacuations (default 32)")
      ->type_name("N");
  app.add_option("--log-level", options.log_level, "debug, info, warning or error (default info)")->type_name("LEVEL");
  app.add_option("--log-format", options.log_format, "text or json (default text)")->type_name("FORMAT");
}

}  // namespace

void add_run(CLI::App& app, RunOptions& options, int& exit_code) {
  CLI::App* run = app.add_subcommand("run", "Run the operator against a cluster");
  add_connection_flags(*run, options);
  add_serving_and_election(*run, options);
  add_rates_and_log(*run, options);
  run->add_flag("--once", options.once,
                "Run one cycle of every policy and exit: 0 if all planned moves are complete, else 1");
  run->add_option("--once-timeout", options.once_timeout, "With --once: maximum run time (default 1h)")
      ->type_name("DURATION");
  run->footer(kRunExamples);
  run->callback([&] { exit_code = run_operator(options); });
}

void add_uninstall(CLI::App& app, UninstallFlags& flags, int& exit_code) {
  CLI::App* uninstall = app.add_subcommand(
      "uninstall", "Delete all policies and Evacuations, so that no finalizer blocks the deletion of the CRDs");
  uninstall
      ->add_option("--kubeconfig", flags.kubeconfig,
                   "Kubeconfig file (default: $KUBECONFIG, ~/.kube/config, the pod's service account)")
      ->type_name("FILE");
  uninstall->add_option("--context", flags.context, "Kubeconfig context")->type_name("NAME");
  uninstall->add_option("--operator-namespace", flags.operator_namespace, "Namespace of the operator's Lease")
      ->capture_default_str()
      ->type_name("NAME");
  uninstall->add_option("--timeout", flags.timeout, "Maximum time to wait for unfinished Evacuations")
      ->capture_default_str()
      ->type_name("DURATION");
  uninstall->add_flag("--dry-run", flags.dry_run, "Only print what would be done");
  uninstall->add_flag("-y,--yes", flags.yes, "Do not prompt for confirmation");
  uninstall->footer(kUninstallExamples);
  uninstall->callback([&] { exit_code = run_uninstall(flags); });
}

void add_usage(CLI::App& app, UsageFlags& flags, int& exit_code) {
  CLI::App* usage = app.add_subcommand("usage", "Show the current values of the usage sources for each node");
  usage
      ->add_option("--kubeconfig", flags.kubeconfig,
                   "Kubeconfig file (default: $KUBECONFIG, ~/.kube/config, the pod's service account)")
      ->type_name("FILE");
  usage->add_option("--context", flags.context, "Kubeconfig context")->type_name("NAME");
  usage->add_option("--operator-namespace", flags.operator_namespace, "Namespace of the sources' Secrets")
      ->capture_default_str()
      ->type_name("NAME");
  usage->add_option("POLICY", flags.policy, "Name of the policy (default: all)");
  usage->add_option("-o,--output", flags.output, "json or yaml (default: a table)")
      ->check(CLI::IsMember({"json", "yaml"}))
      ->type_name("FORMAT");
  usage->footer(kUsageExamples);
  usage->callback([&] { exit_code = run_usage(flags); });
}

void add_extender(CLI::App& app, ExtenderOptions& options, int& exit_code) {
  CLI::App* extender =
      app.add_subcommand("extender", "Serve kube-scheduler as an extender: filter and score nodes by measured load");
  extender->add_option("--config", options.config_file, "The extender's configuration (YAML): docs/extender.md")
      ->required()
      ->type_name("FILE");
  extender
      ->add_option("--kubeconfig", options.kubeconfig,
                   "Kubeconfig file (default: $KUBECONFIG, the pod's service account, ~/.kube/config)")
      ->type_name("FILE");
  extender->add_option("--context", options.context, "Kubeconfig context to use")->type_name("NAME");
  extender->add_flag("--check", options.check_only, "Only validate the configuration");
  extender->footer(kExtenderExamples);
  extender->callback([&] { exit_code = run_extender(options); });
}

}  // namespace cmd
