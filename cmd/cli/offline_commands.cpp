#include "cmd/cli/commands.hpp"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "api/policy/scheduler_version.hpp"

namespace cmd {
namespace {

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
constexpr const char* kWebhookCheckExamples = R"(
Examples:
  evacuator webhook-check --url https://mover.example:8443 --ca-file ca.pem
)";

std::vector<std::string> scheduler_versions() {
  std::vector<std::string> versions = {"Auto"};
  for (int minor = api::kOldestSchedulerMinor; minor <= api::kNewestSchedulerMinor; ++minor)
    versions.push_back("1." + std::to_string(minor));
  return versions;
}

}  // namespace

void add_simulate(CLI::App& app, SimulateOptions& options, int& exit_code) {
  CLI::App* simulate = app.add_subcommand("simulate", "Plan a policy on a dump of a cluster; read-only");
  simulate
      ->add_option("--snapshot", options.snapshot,
                   "Dump: a file or a directory of files (kubectl get … -o json|yaml); - is standard input")
      ->required()
      ->type_name("FILE|DIR");
  simulate->add_option("--policy", options.policy, "DeschedulerPolicy (YAML or JSON); - is standard input")
      ->required()
      ->type_name("FILE");
  simulate->add_option("--policy-name", options.policy_name, "Name of the policy, if the file contains several")
      ->type_name("NAME");
  simulate->add_option("--now", options.now, "Time to use as now (RFC 3339; default: the newest time in the dump)")
      ->type_name("TIME");
  simulate
      ->add_option("--usage", options.usage,
                   "Measured usage (CSV or JSON), or 'live': query the policy's usage sources")
      ->type_name("FILE");
  simulate
      ->add_option(
          "--scheduler-version", options.scheduler_version,
          "Version of kube-scheduler in the cluster, for policies that do not set it (1.20 to 1.36; Auto: the newest)")
      ->check(CLI::IsMember(scheduler_versions()))
      ->capture_default_str()
      ->type_name("VERSION");
  simulate->add_flag("--placement-hints", options.has_hints,
                     "Assume that the placement webhook is installed, which gives placement hints to new pods");
  simulate
      ->add_option("--report", options.reports,
                   "Write a report: a page (.html), a picture (.svg), or the page's data (.json); may be repeated")
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
  CLI::App* explain =
      app.add_subcommand("explain", "Explain why a pod is (not) moved, from a dump or the live cluster");
  explain->add_option("POD", options.pod, "pod/NAME")->required();
  const auto text = [&](const char* flag, std::string& target, const char* help, const char* type) {
    explain->add_option(flag, target, help)->type_name(type);
  };
  text("-n,--namespace", options.ns, "Namespace of the pod (default: the context's; for a dump \"default\")", "NAME");
  text("--snapshot", options.snapshot, "Dump: a file or a directory of files (default: the live cluster)", "FILE|DIR");
  explain->add_option("--policy", options.policies, "DeschedulerPolicies to evaluate in addition to the existing ones")
      ->type_name("FILE")
      ->allow_extra_args(false);
  text("--now", options.now, "Time to use as now, with --snapshot (default: the newest time in the dump)", "TIME");
  explain->add_option("--audit", options.audit, "Audit logs with earlier decisions about the pod")->type_name("FILE");
  explain->add_option("--newest", options.newest, "Only the last N decisions in the logs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->type_name("N");
  text("--kubeconfig", options.kubeconfig,
       "Kubeconfig file (default: $KUBECONFIG, ~/.kube/config, the pod's service account)", "FILE");
  text("--context", options.context, "Kubeconfig context", "NAME");
  text("--operator-namespace", options.operator_namespace,
       "Namespace of the operator's ConfigMap (default evacuator-system)", "NAME");
  explain->add_option("-o,--output", options.output, "text, json or yaml")
      ->check(CLI::IsMember({"text", "json", "yaml"}))
      ->capture_default_str()
      ->type_name("FORMAT");
  explain->footer(kExplainExamples);
  explain->callback([&] { exit_code = run_explain(options); });
}

void add_validate(CLI::App& app, ValidateOptions& options, int& exit_code) {
  CLI::App* validate = app.add_subcommand("validate", "Validate DeschedulerPolicy and Evacuation files strictly");
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
      app.add_subcommand("convert", "Convert policies of kubernetes-sigs/descheduler to DeschedulerPolicy objects");
  convert
      ->add_option("-f,--filename,FILE", options.file,
                   "Policy (v1alpha2 or v1alpha1), ConfigMap with a policy, values of the Helm chart, or a "
                   "HelmRelease, Application, HelmChart or KubeDescheduler with a policy; - is standard input")
      ->required();
  convert->add_option("-o,--output", options.output, "yaml or json")
      ->check(CLI::IsMember({"yaml", "json"}))
      ->capture_default_str()
      ->type_name("FORMAT");
  convert->add_option("--mode", options.mode, "Mode of the policies: DryRun, Manual or Automatic")
      ->check(CLI::IsMember({"DryRun", "Manual", "Automatic"}))
      ->capture_default_str()
      ->type_name("MODE");
  convert
      ->add_option("--compatibility", options.compatibility,
                   "Upstream: the same decisions; None: without upstream's known defects")
      ->check(CLI::IsMember({"Upstream", "None"}))
      ->capture_default_str()
      ->type_name("WHOSE");
  convert->add_option("--interval", options.interval, "Interval between cycles (default: the file's, else 5m)")
      ->type_name("DURATION");
  convert
      ->add_option(
          "--chart-version", options.chart_version,
          "Version of the Helm chart of the values, whose defaults apply (default: the file's, else the newest)")
      ->type_name("VERSION");
  convert->add_flag("--strict", options.strict, "Write no output and exit with 1 if something has no equivalent");
  convert->footer(std::string("Comments in the output and on standard error list what has no equivalent.\n") +
                  kConvertExamples);
  convert->callback([&] { exit_code = run_convert(options); });
}

void add_webhook_check(CLI::App& app, WebhookCheckOptions& options, int& exit_code) {
  CLI::App* check =
      app.add_subcommand("webhook-check", "Test whether a service conforms to the contract of the evictor webhook");
  check->add_option("--url", options.url, "URL of the service: https://host[:port][/base], or http to loopback")
      ->required()
      ->type_name("URL");
  check->add_option("--ca-file", options.ca_file, "File with the CA certificates to trust (default: the system's)")
      ->type_name("FILE");
  check->add_option("--token-file", options.token_file, "File with the bearer token to send")->type_name("FILE");
  check->add_option("--cert-file", options.cert_file, "File with the client certificate to send, with --key-file")
      ->type_name("FILE");
  check->add_option("--key-file", options.key_file, "File with the key of the client certificate")->type_name("FILE");
  check->add_option("--timeout", options.timeout, "Timeout of one call")->capture_default_str()->type_name("DURATION");
  check->add_option("--patience", options.patience, "Timeout for an end state, and for an abort")
      ->capture_default_str()
      ->type_name("DURATION");
  check->add_option("--pod", options.pod, "Pod created for this test: the service may move it")
      ->capture_default_str()
      ->type_name("NAMESPACE/NAME");
  check->add_option("--pod-uid", options.pod_uid, "UID of the pod")->capture_default_str()->type_name("UID");
  check->add_option("--node", options.node, "Node of the pod")->capture_default_str()->type_name("NAME");
  check->add_option("-o,--output", options.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str()
      ->type_name("FORMAT");
  check->footer(kWebhookCheckExamples);
  check->callback([&] { exit_code = run_webhook_check(options); });
}

}  // namespace cmd
