#pragma once

/// The subcommands as functions of their options. Each returns the exit code of the process: 0 on success, 1 on failure
/// (the reason is on standard error). cmd/cli parses the flags; other code does not depend on the CLI library.

#include <optional>
#include <string>
#include <vector>

namespace cmd {

struct RunOptions {
  std::string kubeconfig;  ///< if empty: KUBECONFIG, the pod's service account, ~/.kube/config
  std::string context;
  std::string config_file;  ///< operator configuration, optional
  std::string ns;           ///< namespace of the Lease; if empty, that of the service account, else evacuator-system
  std::string identity;     ///< if empty, host name and a random suffix
  // Flags override the configuration file; absent flags leave its values unchanged.
  std::optional<std::string> health_address, metrics_address;
  std::optional<bool> leader_elect;
  std::optional<std::string> lease_duration, renew_deadline, retry_period;
  std::optional<double> qps;
  std::optional<int> burst;
  std::optional<int> workers;
  std::optional<std::string> log_level;
  std::optional<std::string> log_format;
  bool once = false;  ///< run one cycle of each policy; exit code 0 only if everything planned was done
  std::optional<std::string> once_timeout;
};
int run_operator(const RunOptions& options);

struct SimulateOptions {
  std::string snapshot;  ///< file or directory of kubectl -o json|yaml dumps
  std::string policy;
  std::string policy_name{};           ///< policy to select from the file; may be empty if it has only one
  std::string now;                     ///< RFC 3339; if empty, the newest time found in the dump
  std::string output = "table";        ///< table, wide, json, yaml
  std::vector<std::string> reports{};  ///< report files to write: .html, .svg, .json
  std::string scheduler_version =
      "Auto";              ///< 1.NN, used by policies with version Auto; "Auto" selects the newest known version
  std::string usage{};     ///< file of measured usage, or "live"; none if empty
  bool has_hints = false;  ///< simulate with the placement webhook active
};
int run_simulate(const SimulateOptions& options);

struct ValidateOptions {
  std::vector<std::string> files;  ///< "-" is standard input
  std::string output = "text";     ///< text, json
};
int run_validate(const ValidateOptions& options);

struct WebhookCheckOptions {
  std::string url;  ///< https, or http to loopback
  std::string ca_file, token_file, cert_file, key_file;
  std::string timeout = "10s";
  std::string patience = "60s";  ///< timeout for reaching an end state, and for an abort
  std::string pod = "default/webhook-check";
  std::string pod_uid = "00000000-0000-4000-8000-000000000000";
  std::string node = "webhook-check";
  std::string output = "text";  ///< text, json
};
/// Additionally returns 2 if the check could not be performed.
int run_webhook_check(const WebhookCheckOptions& options);

struct ConvertOptions {
  std::string file{};           ///< "-" is standard input
  std::string output = "yaml";  ///< yaml, json
  std::string mode = "DryRun";
  std::string compatibility = "Upstream";
  std::string interval{};       ///< interval between cycles; if empty, that of the input, else the default
  std::string chart_version{};  ///< version of the Helm chart; if empty, that of the input, else the newest
  bool strict = false;          ///< write nothing if a part of the input has no equivalent
};
/// Writes policies to standard output and the report to standard error. Returns 1, with nothing on standard output, if
/// the input is invalid, if no part of it could be converted, or, with strict, if a part has no equivalent.
int run_convert(const ConvertOptions& options);

/// Explains why a pod is or is not moved, on a dump or on the live cluster. Unlike `kubectl evacuator explain` it also
/// reads dumps, policy files and the audit log.
struct ExplainOptions {
  std::string pod;                      ///< NAME or pod/NAME
  std::string ns{};                     ///< if empty, that of the context, or "default" for a dump
  std::string snapshot{};               ///< dump (file or directory); if empty, the live cluster is read
  std::vector<std::string> policies{};  ///< policy files, evaluated in addition to the policies of the dump or cluster
  std::vector<std::string> audit{};     ///< audit log files with earlier decisions
  int newest = 10;                      ///< maximum number of audit log decisions
  std::string now{};                    ///< RFC 3339 time for a dump; if empty, the newest time in it
  std::string output = "text";          ///< text, json, yaml
  std::string kubeconfig{};
  std::string context{};
  std::string operator_namespace{};  ///< namespace of the operator's ConfigMap, evacuator-system if empty
};
int run_explain(const ExplainOptions& options);

/// Verification and queries of the audit log (docs/audit.md).
struct AuditVerifyOptions {
  std::vector<std::string> files{};  ///< in any order; a single "-" is standard input
  std::string contains{};            ///< "SEQ:HASH" that the chain must contain, no check if empty
  bool from_first = false;           ///< require that the chain begins with record 1
  std::vector<std::string> keys{};   ///< files with the signing Secret (JSON or YAML), or with the raw bytes of a key
  std::string output = "text";       ///< text, json
};
/// Returns 0 if the log is intact; 1 if a link is broken, a signature is invalid, or a required record or signature is
/// missing; 2 if a file or flag cannot be read; 3 if the log is intact except for a truncated end.
int run_audit_verify(const AuditVerifyOptions& options);

struct AuditQueryOptions {
  std::vector<std::string> files{};
  std::string ns{}, pod{}, policy{}, action{}, decision{}, reason{}, actor{};
  std::string since{}, until{};  ///< RFC 3339, or an age such as "2h"
  int newest = 0;                ///< maximum number of newest records, 0 for all
  std::string output = "table";
};
/// Returns 0 on success, even without matches; 2 if a file or flag cannot be read.
int run_audit_query(const AuditQueryOptions& options);

struct ExtenderOptions {
  std::string config_file;
  std::string kubeconfig;  ///< if empty: KUBECONFIG, the pod's service account, ~/.kube/config
  std::string context;
  bool check_only = false;  ///< validate the configuration and exit
};
/// Runs `evacuator extender`: serves kube-scheduler until interrupted. Returns the exit code of the process.
int run_extender(const ExtenderOptions& options);

int print_version(bool as_json);

}  // namespace cmd
