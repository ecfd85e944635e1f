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
  evacuator usage                                    # what the usage sources of all policies say
  evacuator usage balance -o json
  kubectl exec -n evacuator-system deploy/evacuator -- evacuator usage   # as the operator is answered
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
  app.add_option("--config", options.config_file, "Operator configuration (YAML); flags win over it")
      ->type_name("FILE");
  app.add_option("--namespace", options.ns,
                 "Namespace of the leader election Lease (default: the service account's, else evacuator-system)")
      ->type_name("NAME");
  app.add_option("--identity", options.identity, "Name of this replica (default: host name and a random suffix)")
      ->type_name("NAME");
}

/// Adds flags for the HTTP servers and leader election.
void add_serving_and_election(CLI::App& app, RunOptions& options) {
  app.add_option("--health-address", options.health_address, "Serve /healthz and /readyz here (default 0.0.0.0:8081)")
      ->type_name("HOST:PORT");
  app.add_option("--metrics-address", options.metrics_address,
                 "Serve /metrics here: HTTPS for those who may get it, plain on loopback (default 0.0.0.0:8443)")
      ->type_name("HOST:PORT");
  app.add_option("--leader-elect", options.leader_elect, "Act only while holding the Lease (default true)")
      ->type_name("BOOL");
  app.add_option("--lease-duration", options.lease_duration, "How long others wait for a silent leader (default 15s)")
      ->type_name("DURATION");
  app.add_option("--renew-deadline", options.renew_deadline, "Stop acting when not renewed for so long (default 10s)")
      ->type_name("DURATION");
  app.add_option("--retry-period", options.retry_period, "Between tries to get or renew the Lease (default 2s)")
      ->type_name("DURATION");
}

/// Adds flags for rate limits, concurrency and logging.
void add_rates_and_log(CLI::App& app, RunOptions& options) {
  app.add_option("--qps", options.qps, "Requests per second to the API server (default 50)")->type_name("N");
  app.add_option("--burst", options.burst, "Requests above --qps for a moment (default 100)")->type_name("N");
  app.add_option("--workers", options.workers, "Evacuations reconciled at the same time (default 32)")->type_name("N");
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
                "One cycle of every policy now, then end: 0 if all that was planned has been done, else 1");
  run->add_option("--once-timeout", options.once_timeout, "With --once: end after so long (default 1h)")
      ->type_name("DURATION");
  run->footer(kRunExamples);
  run->callback([&] { exit_code = run_operator(options); });
}

void add_uninstall(CLI::App& app, UninstallFlags& flags, int& exit_code) {
  CLI::App* uninstall = app.add_subcommand(
      "uninstall", "Delete all policies and Evacuations, so that nothing holds up the CRDs' deletion");
  uninstall
      ->add_option("--kubeconfig", flags.kubeconfig,
                   "Kubeconfig file (default: $KUBECONFIG, ~/.kube/config, the pod's service account)")
      ->type_name("FILE");
  uninstall->add_option("--context", flags.context, "Kubeconfig context")->type_name("NAME");
  uninstall->add_option("--operator-namespace", flags.operator_namespace, "Where the operator keeps its Lease")
      ->capture_default_str()
      ->type_name("NAME");
  uninstall->add_option("--timeout", flags.timeout, "Wait so long for what is unfinished")
      ->capture_default_str()
      ->type_name("DURATION");
  uninstall->add_flag("--dry-run", flags.dry_run, "Only say what would be done");
  uninstall->add_flag("-y,--yes", flags.yes, "Do not ask");
  uninstall->footer(kUninstallExamples);
  uninstall->callback([&] { exit_code = run_uninstall(flags); });
}

void add_usage(CLI::App& app, UsageFlags& flags, int& exit_code) {
  CLI::App* usage = app.add_subcommand("usage", "What usage sources say of each node now");
  usage
      ->add_option("--kubeconfig", flags.kubeconfig,
                   "Kubeconfig file (default: $KUBECONFIG, ~/.kube/config, the pod's service account)")
      ->type_name("FILE");
  usage->add_option("--context", flags.context, "Kubeconfig context")->type_name("NAME");
  usage->add_option("--operator-namespace", flags.operator_namespace, "Where the Secrets of sources are")
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
      app.add_subcommand("extender", "Serve kube-scheduler as an extender: score and filter nodes by measured load");
  extender->add_option("--config", options.config_file, "The extender's configuration (YAML): docs/extender.md")
      ->required()
      ->type_name("FILE");
  extender
      ->add_option("--kubeconfig", options.kubeconfig,
                   "Kubeconfig file (default: $KUBECONFIG, the pod's service account, ~/.kube/config)")
      ->type_name("FILE");
  extender->add_option("--context", options.context, "Kubeconfig context to use")->type_name("NAME");
  extender->add_flag("--check", options.check_only, "Only read the configuration and say what is wrong with it");
  extender->footer(kExtenderExamples);
  extender->callback([&] { exit_code = run_extender(options); });
}

}  // namespace cmd
