#pragma once

/// The commands of `kubectl evacuator` as functions of their options. Each returns the exit code of the process (see
/// fail() in cmd/session/session.hpp). cmd/cli/kubectl.cpp parses the flags.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cmd/drain/drain.hpp"
#include "cmd/explain/opinion.hpp"
#include "cmd/session/session.hpp"

namespace cmd::plugin {

/// Options shared by the Evacuations of one command.
struct RequestOptions {
  std::vector<std::string> evictors;
  std::string reason;
  std::optional<std::int64_t> grace_period_seconds;
  std::string dry_run = "none";  ///< none, client, server
  base::Duration timeout{};      ///< timeout of --wait, zero for none
};

struct PodOptions {
  std::vector<std::string> names;
  std::string selector;
  RequestOptions request;
  bool wait = false;
  bool whole_group = false;  ///< also evacuate the other members of the pods' groups; otherwise such pods are refused
};
int run_pod(Session& session, const PodOptions& options);

struct NodeOptions {
  std::string node;
  std::string pod_selector;
  DrainRules rules;
  RequestOptions request;
  bool wait = true;
  bool whole_group = false;  ///< also evacuate pods of other nodes that are in one group with these pods
  bool uncordon_on_failure = false;
};
/// Cordons the node, creates an Evacuation for each of its pods and, with `wait`, follows them to the end. Resumes an
/// earlier drain of the node.
int run_node(Session& session, const NodeOptions& options);

struct CancelNodeOptions {
  std::string node;
  std::string reason;
  bool uncordon = false;  ///< uncordon without confirmation
};
int run_cancel_node(Session& session, const CancelNodeOptions& options);

/// Selects the Evacuations that a command applies to.
struct Selection {
  std::vector<std::string> names;  ///< names of Evacuations, or pod/NAME
  std::string selector;
  std::string policy;
  bool all = false;
};
struct CancelOptions {
  Selection which;
  std::string reason;
};
int run_cancel(Session& session, const CancelOptions& options);
int run_approve(Session& session, const Selection& which);

/// Shows everything in the namespace if `target` is empty.
int run_status(Session& session, const std::string& target);

struct WatchOptions {
  std::string target;  ///< pod/NAME, node/NAME, policy/NAME or the name of an Evacuation; all if empty
  std::string selector;
};
int run_watch(Session& session, const WatchOptions& options);

struct UsageOptions {
  std::string policy;  ///< policy name, all policies if empty
  std::function<std::unique_ptr<usage::Source>(Session& session, const api::UsageSource& source)> make_source =
      usage_source_of;
};
/// Queries every usage source of the policies from this process and prints the usage of each node.
int run_usage(Session& session, const UsageOptions& options);

struct LiveExplainOptions {
  std::string target;
  std::vector<api::DeschedulerPolicy> policies{};  ///< policies evaluated in addition to those of the cluster
  std::vector<PastDecision> past{};                ///< earlier decisions about the pod
};
int run_explain(Session& session, const LiveExplainOptions& options);

struct UninstallOptions {
  bool dry_run = false;
  bool yes = false;          ///< no confirmation
  base::Duration timeout{};  ///< maximum wait for unfinished Evacuations
};
/// Deletes all policies and Evacuations of the cluster, cancels unfinished ones, and waits until they are gone. If no
/// operator runs, removes our finalizers after a grace period.
int run_uninstall(Session& session, const UninstallOptions& options);

}  // namespace cmd::plugin
