#pragma once

/// The subcommands as functions of their options. Each returns the exit code of the process: 0 on success, 1 on failure
/// (the reason is on standard error). cmd/cli parses the flags; other code does not depend on the CLI library.

#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"

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

struct UninstallFlags {
  std::string kubeconfig;
  std::string context;
  std::string operator_namespace = "evacuator-system";
  std::string timeout = "10m";
  bool dry_run = false;
  bool yes = false;
};
/// Same as `kubectl evacuator uninstall` (cmd/plugin/commands.hpp).
int run_uninstall(const UninstallFlags& flags);

struct UsageFlags {
  std::string kubeconfig;
  std::string context;
  std::string operator_namespace = "evacuator-system";
  std::string policy;  ///< policy name, all policies if empty
  std::string output;  ///< json, yaml; human-readable if empty
};
/// Same as `kubectl evacuator usage` (cmd/plugin/commands.hpp).
int run_usage(const UsageFlags& flags);

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

int print_version(bool as_json);

}  // namespace cmd
