#include <string>
#include <vector>

#include "api/policy/scheduler_version.hpp"
#include "cmd/cli/commands.hpp"
#include "cmd/cli/parser.hpp"
#include "cmd/commands.hpp"
#include "cmd/output.hpp"

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
constexpr const char* kExitCodesOfVerify =
    "Exit code: 0 intact; 1 broken; 2 a file or flag cannot be read, or the output cannot be written; 3 intact except "
    "for an incomplete end; 4 the end is not signed.\n";
constexpr const char* kAuditVerifyExamples = R"(
Examples:
  evacuator audit verify audit.log audit.log.1
  evacuator audit verify --from-first --keys secret.yaml audit.log*
)";
constexpr const char* kAuditQueryExamples = R"(
Examples:
  evacuator audit query audit.log --pod web-1 --since 2h
)";

std::vector<std::string> scheduler_versions() {
  std::vector<std::string> versions = {"Auto"};
  for (int minor = api::kOldestSchedulerMinor; minor <= api::kNewestSchedulerMinor; ++minor)
    versions.push_back("1." + std::to_string(minor));
  return versions;
}

void add_simulate_flags(CLI::App& app, SimulateOptions& options) {
  option(app, "--snapshot", options.snapshot, "FILE|DIR",
         "Dump: a file or a directory of files (kubectl get … -o json|yaml); - is standard input")
      ->required();
  option(app, "--policy", options.policy, "FILE", "DeschedulerPolicy (YAML or JSON); - is standard input")->required();
  option(app, "--policy-name", options.policy_name, "NAME", "Name of the policy, if the file contains several");
  option(app, "--now", options.now, "TIME", "Time to use as now (RFC 3339; default: the newest time in the dump)");
  option(app, "--usage", options.usage, "FILE",
         "Measured usage (CSV or JSON), or 'live': query the policy's usage sources");
  one_of(app, "--scheduler-version", options.scheduler_version, scheduler_versions(), "VERSION",
         "Version of kube-scheduler in the cluster, for policies that do not set it (1.20 to 1.36; Auto: the newest)");
  app.add_flag("--placement-hints", options.has_hints,
               "Assume that the placement webhook is installed, which gives placement hints to new pods");
  repeated(app, "--report", options.reports, "FILE",
           "Write a report: a page (.html), a picture (.svg), or the page's data (.json); may be repeated");
  output_format(app, options.output, {"table", "wide", "json", "yaml"}, "table, wide (with a picture), json or yaml");
}

void add_explain_flags(CLI::App& app, ExplainOptions& options) {
  app.add_option("POD", options.pod, "pod/NAME")->required();
  option(app, "-n,--namespace", options.ns, "NAME",
         "Namespace of the pod (default: the context's; for a dump \"default\")");
  option(app, "--snapshot", options.snapshot, "FILE|DIR",
         "Dump: a file or a directory of files (default: the live cluster)");
  repeated(app, "--policy", options.policies, "FILE",
           "DeschedulerPolicies to evaluate in addition to the existing ones");
  option(app, "--now", options.now, "TIME",
         "Time to use as now, with --snapshot (default: the newest time in the dump)");
  option(app, "--audit", options.audit, "FILE", "Audit logs with earlier decisions about the pod");
  defaulted(app, "--newest", options.newest, "N", "Only the last N decisions in the logs")->check(CLI::PositiveNumber);
  add_cluster_flags(app, options.kubeconfig, options.context);
  option(app, "--operator-namespace", options.operator_namespace, "NAME",
         "Namespace of the operator's ConfigMap (default evacuator-system)");
  output_format(app, options.output, {"text", "json", "yaml"}, "text, json or yaml");
}

void add_validate_flags(CLI::App& app, ValidateOptions& options) {
  app.add_option("-f,--filename,FILE", options.files, "YAML or JSON files; - is standard input")->required();
  output_format(app, options.output, {"text", "json"}, "text or json");
}

void add_convert_flags(CLI::App& app, ConvertOptions& options) {
  app.add_option("-f,--filename,FILE", options.file,
                 "Policy (v1alpha2 or v1alpha1), ConfigMap with a policy, values of the Helm chart, or a HelmRelease, "
                 "Application, HelmChart or KubeDescheduler with a policy; - is standard input")
      ->required();
  output_format(app, options.output, {"yaml", "json"}, "yaml or json");
  one_of(app, "--mode", options.mode, {"DryRun", "Manual", "Automatic"}, "MODE",
         "Mode of the policies: DryRun, Manual or Automatic");
  one_of(app, "--compatibility", options.compatibility, {"Upstream", "None"}, "WHOSE",
         "Upstream: the same decisions; None: without upstream's known defects");
  option(app, "--interval", options.interval, "DURATION", "Interval between cycles (default: the file's, else 5m)");
  option(app, "--chart-version", options.chart_version, "VERSION",
         "Version of the Helm chart of the values, whose defaults apply (default: the file's, else the newest)");
  app.add_flag("--strict", options.strict, "Write no output and exit with 1 if something has no equivalent");
}

void add_webhook_check_flags(CLI::App& app, WebhookCheckOptions& options) {
  option(app, "--url", options.url, "URL", "URL of the service: https://host[:port][/base], or http to loopback")
      ->required();
  option(app, "--ca-file", options.ca_file, "FILE", "File with the CA certificates to trust (default: the system's)");
  option(app, "--token-file", options.token_file, "FILE", "File with the bearer token to send");
  option(app, "--cert-file", options.cert_file, "FILE", "File with the client certificate to send, with --key-file");
  option(app, "--key-file", options.key_file, "FILE", "File with the key of the client certificate");
  defaulted(app, "--timeout", options.timeout, "DURATION", "Timeout of one call");
  defaulted(app, "--patience", options.patience, "DURATION", "Timeout for an end state, and for an abort");
  defaulted(app, "--pod", options.pod, "NAMESPACE/NAME", "Pod created for this test: the service may move it");
  defaulted(app, "--pod-uid", options.pod_uid, "UID", "UID of the pod");
  defaulted(app, "--node", options.node, "NAME", "Node of the pod");
  output_format(app, options.output, {"text", "json"}, "text or json");
}

void add_audit_verify_flags(CLI::App& app, AuditVerifyOptions& options) {
  app.add_option("FILE", options.files,
                 "Log files of one replica, including rotated files, in any order; - is standard input")
      ->required();
  option(app, "--contains", options.contains, "SEQ:HASH", "A record noted earlier that the chain must still contain");
  app.add_flag("--from-first", options.from_first,
               "Require that the chain begins with record 1: nothing was removed before it");
  option(app, "--keys", options.keys, "FILE",
         "The signing Secret (kubectl -n evacuator-system get secret evacuator-signing -o yaml), or a file with the "
         "bytes of a key; may be repeated: a head in the chain must be signed with one of them");
  output_format(app, options.output, {"text", "json"}, "text or json");
}

void add_audit_query_flags(CLI::App& app, AuditQueryOptions& options) {
  app.add_option("FILE", options.files, "Log files, in any order; - is standard input")->required();
  option(app, "-n,--namespace", options.ns, "NAME", "Only objects in this namespace");
  option(app, "--pod", options.pod, "NAME", "Only records about pods with this name");
  option(app, "--policy", options.policy, "NAME", "Only records of this DeschedulerPolicy");
  option(app, "--action", options.action, "ACTION", "Action, such as PodNominated, PhaseChanged or CallAnswered");
  option(app, "--decision", options.decision, "DECISION", "Result, such as Refused, Held or Failed");
  option(app, "--reason", options.reason, "REASON", "Reason, such as PDBBlocked");
  option(app, "--actor", options.actor, "NAME", "Only records of this replica");
  option(app, "--since", options.since, "TIME", "Start time (RFC 3339, or an age such as 2h)");
  option(app, "--until", options.until, "TIME", "End time (RFC 3339, or an age such as 2h)");
  option(app, "--newest", options.newest, "N", "Only the last N matching records")->check(CLI::PositiveNumber);
  output_format(app, options.output, {"table", "json", "yaml"}, "table, json or yaml");
}

}  // namespace

void add_planning_commands(CLI::App& app, int& exit_code) {
  add_command(app, exit_code, "simulate", "Plan a policy on a dump of a cluster; read-only", kSimulateExamples,
              add_simulate_flags, run_simulate);
  add_command(app, exit_code, "validate", "Validate DeschedulerPolicy and Evacuation files strictly", kValidateExamples,
              add_validate_flags, run_validate);
  add_command(
      app, exit_code, "convert", "Convert policies of kubernetes-sigs/descheduler to DeschedulerPolicy objects",
      std::string("Comments in the output and on standard error list what has no equivalent.\n") + kConvertExamples,
      add_convert_flags, run_convert);
  add_command(app, exit_code, "explain", "Explain why a pod is (not) moved, from a dump or the live cluster",
              kExplainExamples, add_explain_flags, run_explain);
}

void add_audit(CLI::App& app, int& exit_code) {
  CLI::App* audit = app.add_subcommand("audit", "Verify and search the operator's audit log");
  audit->require_subcommand(1);
  // Returns 2 on output errors because 1 means that the log is broken.
  const auto verify = [](const AuditVerifyOptions& options) {
    return with_output(
        "evacuator", [&] { return run_audit_verify(options); }, 2);
  };
  add_command(*audit, exit_code, "verify", "Find the first broken link of an audit log",
              std::string(kExitCodesOfVerify) + kAuditVerifyExamples, add_audit_verify_flags, verify);
  add_command(*audit, exit_code, "query", "Search an audit log", kAuditQueryExamples, add_audit_query_flags,
              run_audit_query);
}

void add_webhook_check(CLI::App& app, int& exit_code) {
  add_command(app, exit_code, "webhook-check", "Test whether a service conforms to the contract of the evictor webhook",
              kWebhookCheckExamples, add_webhook_check_flags, run_webhook_check);
}

}  // namespace cmd
