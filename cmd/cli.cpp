#include "cmd/cli.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <system_error>

#include "api/json/strict_object.hpp"
#include "api/policy/scheduler_version.hpp"
#include "cmd/advise/cli.hpp"
#include "cmd/commands.hpp"
#include "cmd/completion.hpp"
#include "cmd/explain/explain.hpp"
#include "cmd/extender/extender.hpp"
#include "cmd/offline/audit.hpp"
#include "cmd/offline/convert.hpp"
#include "cmd/output.hpp"
#include "cmd/plugin/process_io.hpp"
#include "cmd/version/version.hpp"

namespace cmd {
namespace {

constexpr int kBrokenPipe = 141;  // as a shell reports SIGPIPE

constexpr const char* kExamples = R"(
Examples:
  evacuator demo                                       watch it move pods on the built-in cluster
  evacuator simulate --snapshot dump/ --policy p.yaml  what would it do to my cluster?
  evacuator explain pod/web-1 --snapshot dump/ --policy p.yaml   and why (not) this pod?
  evacuator validate policy.yaml                       is my policy right?
  evacuator convert policy.yaml                        from kubernetes-sigs/descheduler: its policy as one of ours
  evacuator advise requests --prometheus URL           what should pods request?
  evacuator run                                        the operator, against the current context
  evacuator audit query audit.log --pod web-1          who moved it, when, and why?

Take a snapshot with:
  kubectl get nodes,pods,namespaces,pdb,pvc,pv,priorityclasses,storageclasses,csinodes,jobs -A -o json > dump.json

Documentation: docs/ in the repository. Completion: source <(evacuator completion bash)
)";

// Each command's help shows its own examples.
constexpr const char* kRunExamples = R"(
Examples:
  evacuator run                                     # the current context
  evacuator run --config operator.yaml --leader-elect=false
  evacuator run --once --once-timeout 30m           # for a CronJob
)";
constexpr const char* kDemoExamples = R"(
Examples:
  evacuator demo                                    # until the script is over
  evacuator demo --duration forever --port 6443 --kubeconfig-out /tmp/demo.kubeconfig
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
constexpr const char* kSimulateExamples = R"(
Examples:
  evacuator simulate --snapshot dump/ --policy p.yaml
  evacuator simulate --snapshot dump.json --policy p.yaml --policy-name balance -o json
  evacuator simulate --snapshot dump.json --policy p.yaml -o wide --report plan.html
)";
constexpr const char* kExplainExamples = R"(
Examples:
  evacuator explain pod/web-1 -n shop               # on the live cluster
  evacuator explain pod/web-1 -n shop --snapshot dump/ --policy p.yaml
)";
constexpr const char* kValidateExamples = R"(
Examples:
  evacuator validate policy.yaml evacuation.yaml
  kubectl get deschedulerpolicies -o yaml | evacuator validate -
)";
constexpr const char* kConvertExamples = R"(
Examples:
  evacuator convert policy.yaml > ours.yaml
  evacuator convert values.yaml --mode Automatic --strict
)";
constexpr const char* kExitCodesOfVerify =
    "Exit code: 0 intact; 1 broken; 2 a file or flag cannot be read, or the output cannot be written; 3 intact but for "
    "an unfinished end; 4 its end is "
    "not signed.\n";
constexpr const char* kAuditVerifyExamples = R"(
Examples:
  evacuator audit verify audit.log audit.log.1
  evacuator audit verify --from-first --keys secret.yaml audit.log*
)";
constexpr const char* kAuditQueryExamples = R"(
Examples:
  evacuator audit query audit.log --pod web-1 --since 2h
)";
constexpr const char* kWebhookCheckExamples = R"(
Examples:
  evacuator webhook-check --url https://mover.example:8443 --ca-file ca.pem
)";
constexpr const char* kExtenderExamples = R"(
Examples:
  evacuator extender --config extender.yaml
  evacuator extender --config extender.yaml --check
)";
constexpr const char* kCompletionExamples = R"(
Examples:
  source <(evacuator completion bash)
  evacuator completion fish | source
)";

void add_run(CLI::App& app, RunOptions& options, int& exit_code) {
  CLI::App* run = app.add_subcommand("run", "Run the operator against a cluster");
  run->add_option("--kubeconfig", options.kubeconfig,
                  "Kubeconfig file (default: $KUBECONFIG, the pod's service account, ~/.kube/config)")
      ->type_name("FILE");
  run->add_option("--context", options.context, "Kubeconfig context to use")->type_name("NAME");
  run->add_option("--config", options.config_file, "Operator configuration (YAML); flags win over it")
      ->type_name("FILE");
  run->add_option("--namespace", options.ns,
                  "Namespace of the leader election Lease (default: the service account's, else evacuator-system)")
      ->type_name("NAME");
  run->add_option("--identity", options.identity, "Name of this replica (default: host name and a random suffix)")
      ->type_name("NAME");
  run->add_option("--health-address", options.health_address, "Serve /healthz and /readyz here (default 0.0.0.0:8081)")
      ->type_name("HOST:PORT");
  run->add_option("--metrics-address", options.metrics_address,
                  "Serve /metrics here: HTTPS for those who may get it, plain on loopback (default 0.0.0.0:8443)")
      ->type_name("HOST:PORT");
  run->add_option("--leader-elect", options.leader_elect, "Act only while holding the Lease (default true)")
      ->type_name("BOOL");
  run->add_option("--lease-duration", options.lease_duration, "How long others wait for a silent leader (default 15s)")
      ->type_name("DURATION");
  run->add_option("--renew-deadline", options.renew_deadline, "Stop acting when not renewed for so long (default 10s)")
      ->type_name("DURATION");
  run->add_option("--retry-period", options.retry_period, "Between tries to get or renew the Lease (default 2s)")
      ->type_name("DURATION");
  run->add_option("--qps", options.qps, "Requests per second to the API server (default 50)")->type_name("N");
  run->add_option("--burst", options.burst, "Requests above --qps for a moment (default 100)")->type_name("N");
  run->add_option("--workers", options.workers, "Evacuations reconciled at the same time (default 32)")->type_name("N");
  run->add_option("--log-level", options.log_level, "debug, info, warning or error (default info)")->type_name("LEVEL");
  run->add_option("--log-format", options.log_format, "text or json (default text)")->type_name("FORMAT");
  run->add_flag("--once", options.once,
                "One cycle of every policy now, then end: 0 if all that was planned has been done, else 1");
  run->add_option("--once-timeout", options.once_timeout, "With --once: end after so long (default 1h)")
      ->type_name("DURATION");
  run->footer(kRunExamples);
  run->callback([&] { exit_code = run_operator(options); });
}

void add_demo(CLI::App& app, DemoOptions& options, int& exit_code) {
  CLI::App* demo = app.add_subcommand("demo", "A simulated cluster, the operator and a script in one process");
  demo->add_option("--port", options.port,
                   "Serve the simulated Kubernetes API on this loopback port (default: a free one)")
      ->check(CLI::Range(0, 65535))
      ->type_name("PORT");
  demo->add_option("--duration", options.duration,
                   "Stop after this long, such as 2m; 'forever' serves until Ctrl-C (default: when the script is over)")
      ->type_name("DURATION");
  demo->add_option("--kubeconfig-out", options.kubeconfig_out, "Write the kubeconfig for kubectl here")
      ->type_name("FILE");
  demo->add_option("--speed", options.speed, "Play the script faster or slower")
      ->check(CLI::Range(0.1, 20.0))
      ->type_name("X");
  demo->add_flag("--plain", options.plain, "No colours, no redrawing (default when not on a terminal)");
  demo->footer(kDemoExamples);
  demo->callback([&] { exit_code = run_demo(options); });
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

std::vector<std::string> scheduler_versions() {
  std::vector<std::string> versions = {"Auto"};
  for (int minor = api::kOldestSchedulerMinor; minor <= api::kNewestSchedulerMinor; ++minor)
    versions.push_back("1." + std::to_string(minor));
  return versions;
}

void add_simulate(CLI::App& app, SimulateOptions& options, int& exit_code) {
  CLI::App* simulate = app.add_subcommand("simulate", "Plan a policy on a dump of a cluster; nothing is touched");
  simulate
      ->add_option("--snapshot", options.snapshot,
                   "Dump: a file or a directory of files (kubectl get … -o json|yaml); - is standard input")
      ->required()
      ->type_name("FILE|DIR");
  simulate->add_option("--policy", options.policy, "DeschedulerPolicy (YAML or JSON); - is standard input")
      ->required()
      ->type_name("FILE");
  simulate->add_option("--policy-name", options.policy_name, "Which policy of the file, when it holds several")
      ->type_name("NAME");
  simulate->add_option("--now", options.now, "Pretend it is this time (RFC 3339; default: the newest time in the dump)")
      ->type_name("TIME");
  simulate
      ->add_option("--usage", options.usage,
                   "Measured usage (CSV or JSON), or 'live': ask the policy's usage sources now")
      ->type_name("FILE");
  simulate
      ->add_option(
          "--scheduler-version", options.scheduler_version,
          "Which kube-scheduler the cluster has, for a policy that does not say (1.20 to 1.36; Auto: the newest)")
      ->check(CLI::IsMember(scheduler_versions()))
      ->capture_default_str()
      ->type_name("VERSION");
  simulate->add_flag("--placement-hints", options.has_hints, "New pods get placement hints: the webhook is installed");
  simulate
      ->add_option("--report", options.reports,
                   "Draw it: a page (.html), a picture (.svg), or the page's data (.json); can be given more than once")
      ->type_name("FILE")
      ->allow_extra_args(false);
  simulate->add_option("-o,--output", options.output, "table, wide (with a picture), json or yaml")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml"}))
      ->capture_default_str()
      ->type_name("FORMAT");
  simulate->footer(kSimulateExamples);
  simulate->callback([&] { exit_code = run_simulate(options); });
}

void add_explain(CLI::App& app, ExplainOptions& options, int& exit_code) {
  CLI::App* explain = app.add_subcommand("explain", "Why a pod is (not) moved: by a dump, or by the live cluster");
  explain->add_option("POD", options.pod, "pod/NAME")->required();
  const auto text = [&](const char* flag, std::string& target, const char* help, const char* type) {
    explain->add_option(flag, target, help)->type_name(type);
  };
  text("-n,--namespace", options.ns, "Of the pod (default: the context's; on a dump \"default\")", "NAME");
  text("--snapshot", options.snapshot, "Dump: a file or a directory of files (default: the live cluster)", "FILE|DIR");
  explain->add_option("--policy", options.policies, "DeschedulerPolicies to judge it by, beside those that are there")
      ->type_name("FILE")
      ->allow_extra_args(false);
  text("--now", options.now, "Pretend it is this time, with --snapshot (default: the newest time in the dump)", "TIME");
  explain->add_option("--audit", options.audit, "Audit logs: what was decided about it earlier")->type_name("FILE");
  explain->add_option("--newest", options.newest, "Only the last N decisions of the logs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->type_name("N");
  text("--kubeconfig", options.kubeconfig,
       "Kubeconfig file (default: $KUBECONFIG, ~/.kube/config, the pod's service account)", "FILE");
  text("--context", options.context, "Kubeconfig context", "NAME");
  text("--operator-namespace", options.operator_namespace,
       "Where the operator's ConfigMap is (default evacuator-system)", "NAME");
  explain->add_option("-o,--output", options.output, "text, json or yaml")
      ->check(CLI::IsMember({"text", "json", "yaml"}))
      ->capture_default_str()
      ->type_name("FORMAT");
  explain->footer(kExplainExamples);
  explain->callback([&] { exit_code = run_explain(options); });
}

void add_validate(CLI::App& app, ValidateOptions& options, int& exit_code) {
  CLI::App* validate = app.add_subcommand("validate", "Check DeschedulerPolicy and Evacuation files, strictly");
  validate->add_option("-f,--filename,FILE", options.files, "YAML or JSON files; - is standard input")->required();
  validate->add_option("-o,--output", options.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str()
      ->type_name("FORMAT");
  validate->footer(kValidateExamples);
  validate->callback([&] { exit_code = run_validate(options); });
}

void add_convert(CLI::App& app, ConvertOptions& options, int& exit_code) {
  CLI::App* convert =
      app.add_subcommand("convert", "Rewrite policies of kubernetes-sigs/descheduler as DeschedulerPolicy objects");
  convert
      ->add_option(
          "-f,--filename,FILE", options.file,
          "Policy (v1alpha2 or v1alpha1), ConfigMap with one, values of the Helm chart, or a HelmRelease, Application, "
          "HelmChart or KubeDescheduler with them; - is standard input")
      ->required();
  convert->add_option("-o,--output", options.output, "yaml or json")
      ->check(CLI::IsMember({"yaml", "json"}))
      ->capture_default_str()
      ->type_name("FORMAT");
  convert->add_option("--mode", options.mode, "Of the policies: DryRun, Manual or Automatic")
      ->check(CLI::IsMember({"DryRun", "Manual", "Automatic"}))
      ->capture_default_str()
      ->type_name("MODE");
  convert
      ->add_option("--compatibility", options.compatibility,
                   "Upstream: the same decisions; None: with upstream's known faults fixed")
      ->check(CLI::IsMember({"Upstream", "None"}))
      ->capture_default_str()
      ->type_name("WHOSE");
  convert->add_option("--interval", options.interval, "Between cycles (default: what the file says, else 5m)")
      ->type_name("DURATION");
  convert
      ->add_option("--chart-version", options.chart_version,
                   "Of the Helm chart that values are for: its defaults count, too (default: what the file says, else "
                   "the newest)")
      ->type_name("VERSION");
  convert->add_flag("--strict", options.strict, "Write nothing and exit with 1 when something has no equal");
  convert->footer(std::string("What has no equal stands in the output's comments and on standard error.\n") +
                  kConvertExamples);
  convert->callback([&] { exit_code = run_convert(options); });
}

void add_audit_verify(CLI::App& audit, AuditVerifyOptions& options, int& exit_code) {
  CLI::App* verify = audit.add_subcommand("verify", "Find the first broken link of an audit log");
  verify
      ->add_option("FILE", options.files,
                   "Log files of one replica, rotated ones included, in any order; - is standard input")
      ->required();
  verify->add_option("--contains", options.contains, "A record noted earlier, which must still be there")
      ->type_name("SEQ:HASH");
  verify->add_flag("--from-first", options.from_first,
                   "The chain must begin with record 1: nothing was cut off before it");
  verify
      ->add_option(
          "--keys", options.keys,
          "The signing Secret (kubectl -n evacuator-system get secret evacuator-signing -o yaml), or a file with a "
          "key's bytes; may be repeated: a head in the chain must be signed with one of them")
      ->type_name("FILE");
  verify->add_option("-o,--output", options.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str()
      ->type_name("FORMAT");
  verify->footer(std::string(kExitCodesOfVerify) + kAuditVerifyExamples);
  // 1 would say that the log is broken.
  verify->callback([&] {
    exit_code = with_output(
        "evacuator", [&] { return run_audit_verify(options); }, 2);
  });
}

void add_audit_query(CLI::App& audit, AuditQueryOptions& options, int& exit_code) {
  CLI::App* query = audit.add_subcommand("query", "Search an audit log");
  query->add_option("FILE", options.files, "Log files, in any order; - is standard input")->required();
  const auto text = [&](const char* flag, std::string& target, const char* help, const char* type) {
    query->add_option(flag, target, help)->type_name(type);
  };
  text("-n,--namespace", options.ns, "Only objects in this namespace", "NAME");
  text("--pod", options.pod, "Only what concerns pods of this name", "NAME");
  text("--policy", options.policy, "Only under this DeschedulerPolicy", "NAME");
  text("--action", options.action, "Such as PodNominated, PhaseChanged, CallAnswered", "ACTION");
  text("--decision", options.decision, "Such as Refused, Held, Failed", "DECISION");
  text("--reason", options.reason, "Such as PDBBlocked", "REASON");
  text("--actor", options.actor, "Only by this replica", "NAME");
  text("--since", options.since, "From then on (RFC 3339, or how long ago: 2h)", "TIME");
  text("--until", options.until, "Before then", "TIME");
  query->add_option("--newest", options.newest, "Only the last N that match")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  query->add_option("-o,--output", options.output, "table, json or yaml")
      ->check(CLI::IsMember({"table", "json", "yaml"}))
      ->capture_default_str()
      ->type_name("FORMAT");
  query->footer(kAuditQueryExamples);
  query->callback([&] { exit_code = run_audit_query(options); });
}

void add_audit(CLI::App& app, AuditVerifyOptions& verify, AuditQueryOptions& query, int& exit_code) {
  CLI::App* audit = app.add_subcommand("audit", "Check and search the operator's audit log");
  audit->require_subcommand(1);
  add_audit_verify(*audit, verify, exit_code);
  add_audit_query(*audit, query, exit_code);
}

void add_webhook_check(CLI::App& app, WebhookCheckOptions& options, int& exit_code) {
  CLI::App* check = app.add_subcommand("webhook-check", "Does a service keep the contract of the evictor webhook?");
  check->add_option("--url", options.url, "Of the service: https://host[:port][/base], or http to loopback")
      ->required()
      ->type_name("URL");
  check->add_option("--ca-file", options.ca_file, "Roots to trust (default: the system's)")->type_name("FILE");
  check->add_option("--token-file", options.token_file, "Bearer token to show")->type_name("FILE");
  check->add_option("--cert-file", options.cert_file, "Client certificate to show, with --key-file")->type_name("FILE");
  check->add_option("--key-file", options.key_file, "Its key")->type_name("FILE");
  check->add_option("--timeout", options.timeout, "Of one call")->capture_default_str()->type_name("DURATION");
  check->add_option("--patience", options.patience, "For an end state, and for an abort")
      ->capture_default_str()
      ->type_name("DURATION");
  check->add_option("--pod", options.pod, "A pod made for this test: the service may really move it")
      ->capture_default_str()
      ->type_name("NAMESPACE/NAME");
  check->add_option("--pod-uid", options.pod_uid, "Its UID")->capture_default_str()->type_name("UID");
  check->add_option("--node", options.node, "Its node")->capture_default_str()->type_name("NAME");
  check->add_option("-o,--output", options.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str()
      ->type_name("FORMAT");
  check->footer(kWebhookCheckExamples);
  check->callback([&] { exit_code = run_webhook_check(options); });
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

void add_version(CLI::App& app, bool& as_json, int& exit_code) {
  app.set_version_flag("--version", version_of("evacuator"), "Print name, version and commit");
  CLI::App* version = app.add_subcommand("version", "Print the version and the commit it was built from");
  version->add_flag("--json", as_json, "As a JSON object");
  version->callback([&] { exit_code = print_version(as_json); });
}

void add_advise(CLI::App& app, advise::Arguments& arguments, int& exit_code) {
  advise::add_advise(app, arguments, [&exit_code](const advise::Command& command) {
    plugin::ProcessIo process;
    exit_code = command(process.io());
  });
}

void add_completion(CLI::App& app, std::string& shell) {
  CLI::App* completion = app.add_subcommand("completion", "Print a completion script for a shell");
  completion->add_option("SHELL", shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->footer(kCompletionExamples);
  completion->callback([&] { write_out(completion_script(shell, describe(app))); });
}

/// What the flags fill in, for one run.
struct Arguments {
  RunOptions run;
  DemoOptions demo;
  UninstallFlags uninstall;
  UsageFlags usage;
  SimulateOptions simulate;
  ValidateOptions validate;
  ConvertOptions convert;
  ExplainOptions explain;
  advise::Arguments advise;
  AuditVerifyOptions audit_verify;
  AuditQueryOptions audit_query;
  WebhookCheckOptions webhook_check;
  ExtenderOptions extender;
  bool version_as_json = false;
  std::string shell;
};

void add_commands(CLI::App& app, Arguments& arguments, int& exit_code) {
  add_run(app, arguments.run, exit_code);
  add_demo(app, arguments.demo, exit_code);
  add_uninstall(app, arguments.uninstall, exit_code);
  add_usage(app, arguments.usage, exit_code);
  add_simulate(app, arguments.simulate, exit_code);
  add_validate(app, arguments.validate, exit_code);
  add_convert(app, arguments.convert, exit_code);
  add_explain(app, arguments.explain, exit_code);
  add_advise(app, arguments.advise, exit_code);
  add_audit(app, arguments.audit_verify, arguments.audit_query, exit_code);
  add_webhook_check(app, arguments.webhook_check, exit_code);
  add_extender(app, arguments.extender, exit_code);
  add_version(app, arguments.version_as_json, exit_code);
  add_completion(app, arguments.shell);
}

/// "evacuator audit query": the command that was named.
std::string path_of(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? app.get_name() : app.get_name() + " " + path_of(*named.front());
}

/// What is wrong with the arguments, and where to read on.
void complain(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& args) {
  std::string what = error.what();
  if (app.get_subcommands().empty() && !args.empty() && !args.front().starts_with('-')) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(command->get_name());
    const std::vector<std::string_view> known(names.begin(), names.end());
    what = fmt::format("there is no command \"{}\"{}", args.front(), api::did_you_mean(args.front(), known));
  }
  const std::string path = path_of(app);
  print_err("{}: {}\nRun `{} --help` for what there is.\n", path, what, path);
}

int run_command(const std::vector<std::string>& args) {
  CLI::App app{"Evacuator moves pods to where they are better off, without breaking what runs in them.", "evacuator"};
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  int exit_code = 0;
  Arguments arguments;
  add_commands(app, arguments, exit_code);
  app.footer(kExamples);  // last, since commands inherit it when they are added

  std::vector<std::string> reversed(args.rbegin(), args.rend());  // as CLI11 takes them
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help and version
    complain(app, error, args);
    return 2;
  } catch (const std::system_error& error) {
    // Who reads the output has enough of it: … | head
    if (error.code() != std::errc::broken_pipe) throw;
    return kBrokenPipe;
  }
  return exit_code;
}

}  // namespace

int run_evacuator(const std::vector<std::string>& args) {
  return with_output("evacuator", [&] { return run_command(args); });
}

}  // namespace cmd
