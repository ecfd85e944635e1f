#pragma once

/// The commands of `kubectl evacuator` as functions of their options; each returns the process's exit code (fail() of
/// cmd/session/session.hpp). cli.cpp parses the flags.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cmd/drain/drain.hpp"
#include "cmd/explain/opinion.hpp"
#include "cmd/session/session.hpp"
#include "cmd/session/usage_source.hpp"

namespace cmd::plugin {

/// What is asked of every pod.
struct RequestOptions {
  std::vector<std::string> evictors;
  std::string reason;
  std::optional<std::int64_t> grace_period_seconds;
  std::string dry_run = "none";  ///< none, client, server
  base::Duration timeout{};      ///< of --wait; zero: none
};

struct PodOptions {
  std::vector<std::string> names;
  std::string selector;
  RequestOptions request;
  bool wait = false;
  bool whole_group = false;  ///< also for the others of their groups; else such pods are refused
};
int run_pod(Session& session, const PodOptions& options);

struct NodeOptions {
  std::string node;
  std::string pod_selector;
  DrainRules rules;
  RequestOptions request;
  bool wait = true;
  bool whole_group = false;  ///< also for pods of other nodes whose groups these pods leave with
  bool uncordon_on_failure = false;
};
/// Cordons, asks for everything on the node and, with `wait`, follows it to its end. Called again it goes on.
int run_node(Session& session, const NodeOptions& options);

struct CancelNodeOptions {
  std::string node;
  std::string reason;
  bool uncordon = false;  ///< without asking
};
int run_cancel_node(Session& session, const CancelNodeOptions& options);

/// Which Evacuations a command is about.
struct Selection {
  std::vector<std::string> names;  ///< of Evacuations, or pod/NAME
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

struct StatusOptions {
  std::string target;  ///< empty: everything in the namespace
};
int run_status(Session& session, const StatusOptions& options);

struct WatchOptions {
  std::string target;  ///< pod/NAME, node/NAME, policy/NAME, an Evacuation's name; empty: all
  std::string selector;
};
int run_watch(Session& session, const WatchOptions& options);

struct UsageOptions {
  std::string policy;  ///< empty: all of them
  std::function<std::unique_ptr<usage::Source>(Session& session, const api::UsageSource& source)> make_source =
      usage_source_of;
};
/// Asks every usage source of the policies, from here, and prints what it says of each node.
int run_usage(Session& session, const UsageOptions& options);

struct LiveExplainOptions {
  std::string target;
  std::vector<api::DeschedulerPolicy> policies{};  ///< judged beside the cluster's
  std::vector<PastDecision> past{};                ///< what is known of earlier decisions
};
int run_explain(Session& session, const LiveExplainOptions& options);

struct UninstallOptions {
  bool dry_run = false;
  bool yes = false;          ///< without asking
  base::Duration timeout{};  ///< for the unfinished Evacuations
};
/// Deletes all policies and Evacuations of the cluster, cancelling what is unfinished, and waits until they are gone.
/// Where no operator runs it removes our finalizers itself, after a grace period.
int run_uninstall(Session& session, const UninstallOptions& options);

}  // namespace cmd::plugin
