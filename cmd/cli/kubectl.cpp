#include <algorithm>

#include "cmd/cli.hpp"
#include "cmd/cli/commands.hpp"
#include "cmd/cli/completion.hpp"
#include "cmd/cli/parser.hpp"
#include "cmd/plugin/commands.hpp"
#include "cmd/version/version.hpp"

namespace cmd::plugin {
namespace {

constexpr const char* kPluginExamples = R"(
Examples:
  kubectl evacuator pod web-1 -n shop --wait     move one pod and wait until it is gone
  kubectl evacuator node node-2 --ignore-daemonsets   cordon and empty a node, under the operator's limits
  kubectl evacuator node node-2 --cancel         cancel the drain, and uncordon the node
  kubectl evacuator status -A                    active Evacuations, and what blocks them
  kubectl evacuator watch                        the same, live
  kubectl evacuator approve --policy balance     approve the Evacuations of a policy in mode Manual
  kubectl evacuator explain pod/web-1 -n shop    why it is (not) moved, and what moved it

Documentation: docs/kubectl-plugin.md
)";

// Examples of each command's help.
constexpr const char* kPodExamples = R"(
Examples:
  kubectl evacuator pod web-1 -n shop --wait          # and wait until it is gone
  kubectl evacuator pod -l app=web -n shop --dry-run
)";
constexpr const char* kNodeExamples = R"(
Examples:
  kubectl evacuator node node-2 --ignore-daemonsets   # cordon and empty it
  kubectl evacuator node node-2 --cancel              # cancel the drain, and uncordon it
)";
constexpr const char* kCancelExamples = R"(
Examples:
  kubectl evacuator cancel pod/web-1 -n shop
  kubectl evacuator cancel --policy balance
)";
constexpr const char* kApproveExamples = R"(
Examples:
  kubectl evacuator approve --policy balance           # the Evacuations of a policy in mode Manual
)";
constexpr const char* kStatusExamples = R"(
Examples:
  kubectl evacuator status -A
  kubectl evacuator status node/node-2
)";
constexpr const char* kWatchExamples = R"(
Examples:
  kubectl evacuator watch -A
  kubectl evacuator watch policy/balance
)";
constexpr const char* kUninstallExamples = R"(
Examples:
  kubectl evacuator uninstall --dry-run
  kubectl evacuator uninstall --yes && kubectl delete -k config/default
)";
constexpr const char* kUsageExamples = R"(
Examples:
  kubectl evacuator usage                        # current values of the usage sources of all policies
  kubectl evacuator usage balance -o json
)";
constexpr const char* kExplainExamples = R"(
Examples:
  kubectl evacuator explain pod/web-1 -n shop
)";

/// Context of a parse.
struct Program {
  CLI::App& app;
  Io& io;
  GlobalFlags flags{};
  int exit_code = kDone;
};

base::Status check_flags(const std::string& command, const GlobalFlags& flags) {
  const bool shows_no_objects = command == "watch" || command == "explain" || command == "usage";
  if (command == "watch" && !flags.output.empty())
    return base::invalid("watch has no machine-readable output; use: kubectl get evacuations -w -o json");
  if (command == "uninstall" && (!flags.ns.empty() || !flags.output.empty()))
    return base::invalid(
        "uninstall applies to the whole cluster and has no machine-readable output: -n and -o are not supported");
  if (shows_no_objects && flags.output == "name") return base::invalid("-o name: there are no objects to name");
  if (flags.all_namespaces && !flags.ns.empty()) return base::invalid("-n and -A are mutually exclusive");
  return base::Done{};
}

/// Adds a command that needs a cluster. If it is parsed, calls `prepare` with the options, then `run` with a session.
template <typename Options, typename Run>
void add_cluster_command(
    Program& program, const char* name, const char* description, const char* examples,
    void (*add_flags)(CLI::App&, Options&), Run run,
    base::Status (*prepare)(Options&) = [](Options&) -> base::Status { return base::Done{}; }) {
  const auto connect_and_run = [&program, name, run, prepare](Options& options) {
    auto sound = check_flags(name, program.flags);
    if (sound) sound = prepare(options);
    if (!sound) return fail(program.io, sound.error());
    return with_session(program.flags, program.io, [&](Session& session) { return run(session, options); });
  };
  add_command(program.app, program.exit_code, name, description, examples, add_flags, connect_and_run);
}

base::Status read_timeout(const std::string& flag, base::Duration& timeout) {
  const auto parsed = parse_timeout("--timeout", flag);
  if (!parsed) return parsed.error();
  timeout = *parsed;
  return base::Done{};
}

void add_request_flags(CLI::App& app, RequestOptions& options, std::string& timeout) {
  repeated(app, "--evictor", options.evictors, "NAME",
           "Evictors, in the order of preference (default: determined by the pod)");
  option(app, "--reason", options.reason, "TEXT", "Reason, stored in the Evacuation");
  option(app, "--grace-period", options.grace_period_seconds, "SECONDS",
         "Grace period in seconds (default: the pod's own)")
      ->check(CLI::Range(1, 604'800));
  option(app, "--timeout", timeout, "DURATION", "Time after which to stop waiting, such as 10m; 0 never (default 0)");
  app.add_flag("--dry-run{client}", options.dry_run,
               "Only print what would be done; =server also sends a dry-run request to the server")
      ->check(CLI::IsMember({"none", "client", "server"}));
}

struct PodFlags : PodOptions {
  std::string timeout = "0";
};

void add_pod_flags(CLI::App& app, PodFlags& pod) {
  app.add_option("NAME", pod.names, "Pods: NAME or pod/NAME");
  option(app, "-l,--selector", pod.selector, "LABELS", "Label selector of pods");
  app.add_flag("--whole-group", pod.whole_group,
               "Also for the other pods of its PodGroup: a PodGroup leaves as a whole or not at all");
  app.add_flag("--wait", pod.wait, "Wait until the pods are gone; the exit code is 0 if they are");
  add_request_flags(app, pod.request, pod.timeout);
}

struct NodeFlags : NodeOptions {
  std::string timeout = "0";
  bool cancel = false;
  bool uncordon = false;
};

void add_node_flags(CLI::App& app, NodeFlags& node) {
  app.add_option("NODE", node.node, "Name of the node")->required();
  app.add_flag("--ignore-daemonsets", node.rules.ignore_daemonsets, "Ignore pods of DaemonSets");
  app.add_flag("--delete-emptydir-data", node.rules.delete_emptydir_data,
               "Also move pods whose emptyDir data would be lost");
  app.add_flag("--force", node.rules.force,
               "Also evict pods without a controller (their PodDisruptionBudgets still apply)");
  option(app, "--pod-selector", node.pod_selector, "LABELS", "Label selector of pods");
  app.add_flag("--whole-group", node.whole_group, "Also move pods of other nodes that belong to the same PodGroups");
  app.add_flag("--wait,!--no-wait", node.wait, "Follow the drain until it completes (default; --wait=false does not)");
  app.add_flag("--uncordon-on-failure", node.uncordon_on_failure,
               "On a timeout, cancel the remaining Evacuations and uncordon the node");
  app.add_flag("--cancel", node.cancel, "Cancel the Evacuations of this command, and offer to uncordon the node");
  app.add_flag("--uncordon", node.uncordon, "With --cancel: uncordon the node without a prompt");
  add_request_flags(app, node.request, node.timeout);
}

base::Status prepare_node(NodeFlags& flags) {
  if (auto read = read_timeout(flags.timeout, flags.request.timeout); !read) return read;
  if (flags.uncordon && !flags.cancel) return base::invalid("--uncordon requires --cancel");
  return base::Done{};
}

int run_node_flags(Session& session, const NodeFlags& flags) {
  return flags.cancel ? run_cancel_node(session, {flags.node, flags.request.reason, flags.uncordon})
                      : run_node(session, flags);
}

void add_selection(CLI::App& app, Selection& which) {
  app.add_option("NAME", which.names, "Evacuations: NAME, or pod/NAME for the unfinished one of a pod");
  app.add_flag("--all", which.all, "All Evacuations in the namespace (-A: in all namespaces)");
  option(app, "-l,--selector", which.selector, "LABELS", "Label selector of Evacuations");
  option(app, "--policy", which.policy, "NAME", "Evacuations of this policy, in all namespaces unless -n is set");
}

void add_cancel_flags(CLI::App& app, CancelOptions& options) {
  add_selection(app, options.which);
  option(app, "--reason", options.reason, "TEXT", "Reason, stored in the Evacuation");
}

void add_target(CLI::App& app, std::string& target) {
  app.add_option("TARGET", target, "pod/NAME, node/NAME, policy/NAME or an Evacuation's name");
}

void add_watch_flags(CLI::App& app, WatchOptions& options) {
  add_target(app, options.target);
  option(app, "-l,--selector", options.selector, "LABELS", "Label selector of Evacuations");
}

void add_usage_flags(CLI::App& app, UsageOptions& options) {
  app.add_option("POLICY", options.policy, "Name of the policy (default: all)");
}

void add_explain_flags(CLI::App& app, LiveExplainOptions& options) {
  app.add_option("POD", options.target, "pod/NAME")->required();
}

struct UninstallFlags : UninstallOptions {
  std::string time_limit = "10m";
};

void add_uninstall_flags(CLI::App& app, UninstallFlags& flags) {
  app.add_flag("--dry-run", flags.dry_run, "Only print what would be done");
  app.add_flag("-y,--yes", flags.yes, "Do not prompt for confirmation");
  defaulted(app, "--timeout", flags.time_limit, "DURATION", "Maximum time to wait for unfinished Evacuations");
}

void add_global_flags(CLI::App& app, GlobalFlags& flags) {
  add_cluster_flags(app, flags.kubeconfig, flags.context);
  option(app, "-n,--namespace", flags.ns, "NAME", "Namespace (default: the context's)");
  app.add_flag("-A,--all-namespaces", flags.all_namespaces, "All namespaces");
  option(app, "--request-timeout", flags.request_timeout, "DURATION",
         "Timeout of one call, such as 10s (default: 34s)");
  option(app, "-o,--output", flags.output, "FORMAT", "json, yaml or name, for scripts")
      ->check(CLI::IsMember({"json", "yaml", "name"}));
  defaulted(app, "--operator-namespace", flags.operator_namespace, "NAME",
            "Namespace of the operator's Lease and ConfigMap");
}

void add_commands(Program& program) {
  add_cluster_command(
      program, "pod", "Request that pods are moved off their nodes", kPodExamples, add_pod_flags, run_pod,
      +[](PodFlags& flags) { return read_timeout(flags.timeout, flags.request.timeout); });
  add_cluster_command(
      program, "node",
      "Cordon a node and evacuate it, in order and within the operator's limits; run it again to continue",
      kNodeExamples, add_node_flags, run_node_flags, prepare_node);
  add_cluster_command(program, "status", "Show active Evacuations, and what blocks them", kStatusExamples, add_target,
                      run_status);
  add_cluster_command(program, "watch", "Follow Evacuations until Ctrl-C", kWatchExamples, add_watch_flags, run_watch);
  add_cluster_command(program, "usage", "Show the current values of the usage sources for each node", kUsageExamples,
                      add_usage_flags, run_usage);
  add_cluster_command(program, "explain", "Explain why a pod is (not) moved, or what moved it", kExplainExamples,
                      add_explain_flags, run_explain);
  add_cluster_command(program, "cancel", "Cancel Evacuations that have not evicted their pod yet", kCancelExamples,
                      add_cancel_flags, run_cancel);
  add_cluster_command(program, "approve", "Approve Evacuations that wait for approval (mode Manual)", kApproveExamples,
                      add_selection, run_approve);
  add_cluster_command(
      program, "uninstall", "Delete all policies and Evacuations, so that no finalizer blocks the deletion of the CRDs",
      kUninstallExamples, add_uninstall_flags, run_uninstall,
      +[](UninstallFlags& flags) { return read_timeout(flags.time_limit, flags.timeout); });
  add_advise(program.app, program.exit_code, [&program](const auto& command) { return command(program.io); });
}

}  // namespace

int run(const std::vector<std::string>& args, Io& io) {
  CLI::App app{"Requests evacuations of pods and nodes, shows their progress, and explains decisions.",
               "kubectl evacuator"};
  app.require_subcommand(1);
  app.fallthrough();
  app.get_formatter()->column_width(38);
  app.set_version_flag("--version", version_of("kubectl-evacuator"));
  Program program{app, io};
  add_commands(program);
  add_global_flags(app, program.flags);
  app.footer(kPluginExamples);  // Must come last: commands added later would inherit the footer.
  if (!args.empty() && args.front() == "__complete") {  // called by kubectl (docs/kubectl-plugin.md)
    io.out(completions(describe(app), {args.begin() + 1, args.end()}));
    return kDone;
  }
  const auto error = parse(app, args, io.out);
  if (!error) return program.exit_code;
  io.err("error: " + error->message + "\nSee: kubectl evacuator --help\n");
  return kExitFailed;
}

}  // namespace cmd::plugin
