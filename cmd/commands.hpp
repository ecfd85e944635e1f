#pragma once

/// The subcommands as functions of their options. Each returns the process's exit code: 0 done, 1 failed (the reason is
/// on standard error). cmd/cli parses the flags; nothing else knows the CLI library.

#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"

namespace cmd {

struct RunOptions {
  std::string kubeconfig;  ///< empty: KUBECONFIG, the pod's service account, ~/.kube/config
  std::string context;
  std::string config_file;  ///< operator configuration, optional
  std::string ns;           ///< of the Lease; empty: the service account's, else evacuator-system
  std::string identity;     ///< empty: host name and a random suffix
  // Flags win over the configuration file; absent ones leave it as it is.
  std::optional<std::string> health_address, metrics_address;
  std::optional<bool> leader_elect;
  std::optional<std::string> lease_duration, renew_deadline, retry_period;
  std::optional<double> qps;
  std::optional<int> burst;
  std::optional<int> workers;
  std::optional<std::string> log_level;
  std::optional<std::string> log_format;
  bool once = false;  ///< one cycle of each policy; 0 only if all that it planned was done
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
/// As `kubectl evacuator uninstall` (cmd/plugin/commands.hpp).
int run_uninstall(const UninstallFlags& flags);

struct UsageFlags {
  std::string kubeconfig;
  std::string context;
  std::string operator_namespace = "evacuator-system";
  std::string policy;  ///< empty: all of them
  std::string output;  ///< empty: for people; json, yaml
};
/// As `kubectl evacuator usage` (cmd/plugin/commands.hpp).
int run_usage(const UsageFlags& flags);

struct SimulateOptions {
  std::string snapshot;  ///< file or directory of kubectl -o json|yaml dumps
  std::string policy;
  std::string policy_name{};               ///< which of the file's; empty: its only one
  std::string now;                         ///< RFC 3339; empty: the newest time found in the dump
  std::string output = "table";            ///< table, wide, json, yaml
  std::vector<std::string> reports{};      ///< files to draw it in: .html, .svg, .json
  std::string scheduler_version = "Auto";  ///< 1.NN, for a policy that says Auto; Auto: the newest known
  std::string usage{};                     ///< file of measured usage, or "live"; empty: none
  bool has_hints = false;                  ///< the placement webhook is in force
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
  std::string patience = "60s";  ///< for an end state, and for an abort
  std::string pod = "default/webhook-check";
  std::string pod_uid = "00000000-0000-4000-8000-000000000000";
  std::string node = "webhook-check";
  std::string output = "text";  ///< text, json
};
/// Also 2: it could not be checked.
int run_webhook_check(const WebhookCheckOptions& options);

int print_version(bool as_json);

}  // namespace cmd
