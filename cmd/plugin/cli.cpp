#include "cmd/plugin/cli.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <sstream>

#include "cmd/advise/cli.hpp"
#include "cmd/completion.hpp"
#include "cmd/plugin/commands.hpp"
#include "cmd/plugin/complete.hpp"
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

/// Option values that the parsed flags fill in, for one run.
struct Arguments {
  GlobalFlags global;
  PodOptions pod;
  NodeOptions node;
  CancelNodeOptions cancel_node;
  CancelOptions cancel;
  Selection approve;
  StatusOptions status;
  WatchOptions watch;
  UsageOptions usage;
  LiveExplainOptions explain;
  advise::Arguments advise;
  UninstallOptions uninstall;
  RequestOptions pod_request, node_request;
  std::string pod_timeout = "0", node_timeout = "0", uninstall_timeout = "10m";
  bool cancel_of_node = false;
};

using Command = std::function<int(Session&)>;

void add_request_flags(CLI::App& app, RequestOptions& options, std::string& timeout) {
  app.add_option("--evictor", options.evictors, "Evictors, in the order of preference (default: determined by the pod)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--reason", options.reason, "Reason, stored in the Evacuation")->type_name("TEXT");
  app.add_option("--grace-period", options.grace_period_seconds, "Grace period in seconds (default: the pod's own)")
      ->check(CLI::Range(1, 604'800))
      ->type_name("SECONDS");
  app.add_option("--timeout", timeout, "Time after which to stop waiting, such as 10m; 0 never (default 0)")
      ->type_name("DURATION");
  app.add_flag("--dry-run{client}", options.dry_run,
               "Only print what would be done; =server also sends a dry-run request to the server")
      ->check(CLI::IsMember({"none", "client", "server"}));
}

void add_pod(CLI::App& app, Arguments& args) {
  CLI::App* pod = app.add_subcommand("pod", "Request that pods are moved off their nodes");
  pod->footer(kPodExamples);
  pod->add_option("NAME", args.pod.names, "Pods: NAME or pod/NAME");
  pod->add_option("-l,--selector", args.pod.selector, "Label selector of pods")->type_name("LABELS");
  pod->add_flag("--whole-group", args.pod.whole_group,
                "Also for the other pods of its PodGroup: a PodGroup leaves as a whole or not at all");
  pod->add_flag("--wait", args.pod.wait, "Wait until the pods are gone; the exit code is 0 if they are");
  add_request_flags(*pod, args.pod_request, args.pod_timeout);
}

void add_node(CLI::App& app, Arguments& args) {
  CLI::App* node = app.add_subcommand(
      "node", "Cordon a node and evacuate it, in order and within the operator's limits; run it again to continue");
  node->footer(kNodeExamples);
  node->add_option("NODE", args.node.node, "Name of the node")->required();
  node->add_flag("--ignore-daemonsets", args.node.rules.ignore_daemonsets, "Ignore pods of DaemonSets");
  node->add_flag("--delete-emptydir-data", args.node.rules.delete_emptydir_data,
                 "Also move pods whose emptyDir data would be lost");
  node->add_flag("--force", args.node.rules.force,
                 "Also evict pods without a controller (their PodDisruptionBudgets still apply)");
  node->add_option("--pod-selector", args.node.pod_selector, "Label selector of pods")->type_name("LABELS");
  node->add_flag("--whole-group", args.node.whole_group,
                 "Also move pods of other nodes that belong to the same PodGroups");
  node->add_flag("--wait,!--no-wait", args.node.wait,
                 "Follow the drain until it completes (default; --wait=false does not)");
  node->add_flag("--uncordon-on-failure", args.node.uncordon_on_failure,
                 "On a timeout, cancel the remaining Evacuations and uncordon the node");
  node->add_flag("--cancel", args.cancel_of_node,
                 "Cancel the Evacuations of this command, and offer to uncordon the node");
  node->add_flag("--uncordon", args.cancel_node.uncordon, "With --cancel: uncordon the node without a prompt");
  add_request_flags(*node, args.node_request, args.node_timeout);
}

void add_selection(CLI::App& app, Selection& which) {
  app.add_option("NAME", which.names, "Evacuations: NAME, or pod/NAME for the unfinished one of a pod");
  app.add_flag("--all", which.all, "All Evacuations in the namespace (-A: in all namespaces)");
  app.add_option("-l,--selector", which.selector, "Label selector of Evacuations")->type_name("LABELS");
  app.add_option("--policy", which.policy, "Evacuations of this policy, in all namespaces unless -n is set")
      ->type_name("NAME");
}

void add_decisions(CLI::App& app, Arguments& args) {
  CLI::App* cancel = app.add_subcommand("cancel", "Cancel Evacuations that have not evicted their pod yet");
  cancel->footer(kCancelExamples);
  add_selection(*cancel, args.cancel.which);
  cancel->add_option("--reason", args.cancel.reason, "Reason, stored in the Evacuation")->type_name("TEXT");
  CLI::App* approve = app.add_subcommand("approve", "Approve Evacuations that wait for approval (mode Manual)");
  approve->footer(kApproveExamples);
  add_selection(*approve, args.approve);
}

void add_uninstall(CLI::App& app, Arguments& args) {
  CLI::App* uninstall = app.add_subcommand(
      "uninstall", "Delete all policies and Evacuations, so that no finalizer blocks the deletion of the CRDs");
  uninstall->footer(kUninstallExamples);
  uninstall->add_flag("--dry-run", args.uninstall.dry_run, "Only print what would be done");
  uninstall->add_flag("-y,--yes", args.uninstall.yes, "Do not prompt for confirmation");
  uninstall->add_option("--timeout", args.uninstall_timeout, "Maximum time to wait for unfinished Evacuations")
      ->capture_default_str()
      ->type_name("DURATION");
}

void add_views(CLI::App& app, Arguments& args) {
  CLI::App* status = app.add_subcommand("status", "Show active Evacuations, and what blocks them");
  status->footer(kStatusExamples);
  status->add_option("TARGET", args.status.target, "pod/NAME, node/NAME, policy/NAME or an Evacuation's name");
  CLI::App* watch = app.add_subcommand("watch", "Follow Evacuations until Ctrl-C");
  watch->footer(kWatchExamples);
  watch->add_option("TARGET", args.watch.target, "pod/NAME, node/NAME, policy/NAME or an Evacuation's name");
  watch->add_option("-l,--selector", args.watch.selector, "Label selector of Evacuations")->type_name("LABELS");
  CLI::App* usage = app.add_subcommand("usage", "Show the current values of the usage sources for each node");
  usage->footer(kUsageExamples);
  usage->add_option("POLICY", args.usage.policy, "Name of the policy (default: all)");
  CLI::App* explain = app.add_subcommand("explain", "Explain why a pod is (not) moved, or what moved it");
  explain->footer(kExplainExamples);
  explain->add_option("POD", args.explain.target, "pod/NAME")->required();
}

void add_global_flags(CLI::App& app, GlobalFlags& flags) {
  app.add_option("--kubeconfig", flags.kubeconfig,
                 "Kubeconfig file (default: $KUBECONFIG, ~/.kube/config, the pod's service account)")
      ->type_name("FILE");
  app.add_option("--context", flags.context, "Kubeconfig context")->type_name("NAME");
  app.add_option("-n,--namespace", flags.ns, "Namespace (default: the context's)")->type_name("NAME");
  app.add_flag("-A,--all-namespaces", flags.all_namespaces, "All namespaces");
  app.add_option("--request-timeout", flags.request_timeout, "Timeout of one call, such as 10s (default: 34s)")
      ->type_name("DURATION");
  app.add_option("-o,--output", flags.output, "json, yaml or name, for scripts")
      ->check(CLI::IsMember({"json", "yaml", "name"}))
      ->type_name("FORMAT");
  app.add_option("--operator-namespace", flags.operator_namespace, "Namespace of the operator's Lease and ConfigMap")
      ->capture_default_str()
      ->type_name("NAME");
}

base::Result<Command> command_of(const CLI::App& app, Arguments& args) {
  const auto pod_timeout = parse_timeout("--timeout", args.pod_timeout);
  if (!pod_timeout) return pod_timeout.error();
  const auto node_timeout = parse_timeout("--timeout", args.node_timeout);
  if (!node_timeout) return node_timeout.error();
  args.pod.request = args.pod_request;
  args.pod.request.timeout = *pod_timeout;
  args.node.request = args.node_request;
  args.node.request.timeout = *node_timeout;
  args.cancel_node.node = args.node.node;
  args.cancel_node.reason = args.node_request.reason;
  const std::string name = app.get_subcommands().front()->get_name();
  if (name == "pod") return Command([&](Session& session) { return run_pod(session, args.pod); });
  if (name == "node" && args.cancel_of_node)
    return Command([&](Session& session) { return run_cancel_node(session, args.cancel_node); });
  if (name == "node" && args.cancel_node.uncordon) return base::invalid("--uncordon requires --cancel");
  if (name == "node") return Command([&](Session& session) { return run_node(session, args.node); });
  if (name == "cancel") return Command([&](Session& session) { return run_cancel(session, args.cancel); });
  if (name == "approve") return Command([&](Session& session) { return run_approve(session, args.approve); });
  if (name == "status") return Command([&](Session& session) { return run_status(session, args.status); });
  if (name == "uninstall") {
    const auto timeout = parse_timeout("--timeout", args.uninstall_timeout);
    if (!timeout) return timeout.error();
    args.uninstall.timeout = *timeout;
    return Command([&](Session& session) { return run_uninstall(session, args.uninstall); });
  }
  if (name == "watch") return Command([&](Session& session) { return run_watch(session, args.watch); });
  if (name == "usage") return Command([&](Session& session) { return run_usage(session, args.usage); });
  return Command([&](Session& session) { return run_explain(session, args.explain); });
}

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

int connect_and(const Command& command, const GlobalFlags& flags, Io& io) {
  auto session = Session::connect(flags, io);
  return session ? command(**session) : fail(io, session.error());
}

/// Prints completions for kubectl (docs/kubectl-plugin.md).
int complete(const CLI::App& app, const std::vector<std::string>& words, Io& io) {
  io.out(completions(describe(app), words));
  return kDone;
}

/// Returns the problem with the arguments. Replaces the CLI library's text for an unknown command.
std::string usage_problem(const CLI::App& app, const std::vector<std::string>& args, const CLI::ParseError& error) {
  if (args.empty() || args.front().starts_with("-")) return error.what();
  const auto commands = describe(app);
  const bool known = std::ranges::find(commands, args.front(), &CommandCompletion::name) != commands.end();
  return known ? error.what() : "unknown command \"" + args.front() + "\"";
}

int usage_exit(const CLI::App& app, const std::vector<std::string>& args, const CLI::ParseError& error, Io& io) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = app.exit(error, out, err);
  io.out(out.str());
  if (code == 0) return kDone;
  io.err("error: " + usage_problem(app, args, error) + "\nSee: kubectl evacuator --help\n");
  return kFailed;
}

}  // namespace

int run(const std::vector<std::string>& args, Io& io) {
  CLI::App app{"Requests evacuations of pods and nodes, shows their progress, and explains decisions.",
               "kubectl evacuator"};
  app.require_subcommand(1);
  app.fallthrough();
  app.get_formatter()->column_width(38);
  app.set_version_flag("--version", version_of("kubectl-evacuator"));
  Arguments arguments;
  advise::Command advice;  // `advise` has its own flags, and needs no cluster if a dump is given
  add_pod(app, arguments);
  add_node(app, arguments);
  add_views(app, arguments);
  add_decisions(app, arguments);
  add_uninstall(app, arguments);
  advise::add_advise(app, arguments.advise, [&](const advise::Command& command) { advice = command; });
  add_global_flags(app, arguments.global);
  app.footer(kPluginExamples);  // Must come last: commands added later would inherit the footer.

  if (!args.empty() && args.front() == "__complete") return complete(app, {args.begin() + 1, args.end()}, io);
  std::vector<std::string> reversed(args.rbegin(), args.rend());  // CLI11 expects reversed order
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return usage_exit(app, args, error, io);
  }
  if (advice) return advice(io);
  const std::string name = app.get_subcommands().front()->get_name();
  if (auto sound = check_flags(name, arguments.global); !sound) return fail(io, sound.error());
  const auto command = command_of(app, arguments);
  return command ? connect_and(*command, arguments.global, io) : fail(io, command.error());
}

}  // namespace cmd::plugin
