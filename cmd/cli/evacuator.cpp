#include "cmd/cli.hpp"
#include "cmd/cli/commands.hpp"
#include "cmd/cli/completion.hpp"
#include "cmd/cli/parser.hpp"
#include "cmd/commands.hpp"
#include "cmd/output.hpp"
#include "cmd/plugin/process_io.hpp"
#include "cmd/version/version.hpp"

namespace cmd {
namespace {

constexpr const char* kExamples = R"(
Examples:
  evacuator simulate --snapshot dump/ --policy p.yaml  what would the policy do to my cluster?
  evacuator explain pod/web-1 --snapshot dump/ --policy p.yaml   why is this pod (not) moved?
  evacuator validate policy.yaml                       is my policy valid?
  evacuator convert policy.yaml                        convert a policy of kubernetes-sigs/descheduler
  evacuator advise requests --prometheus URL           what should pods request?
  evacuator run                                        the operator, against the current context
  evacuator audit query audit.log --pod web-1          what moved it, when, and why?

Take a snapshot with:
  kubectl get nodes,pods,namespaces,pdb,pvc,pv,priorityclasses,storageclasses,csinodes,jobs -A -o json > dump.json

Documentation: docs/ in the repository. Completion: source <(evacuator completion bash)
)";

constexpr const char* kCompletionExamples = R"(
Examples:
  source <(evacuator completion bash)
  evacuator completion fish | source
)";

int with_process_io(const std::function<int(plugin::Io&)>& command) {
  plugin::ProcessIo process;
  return command(process.io());
}

void add_version(CLI::App& app, int& exit_code) {
  app.set_version_flag("--version", version_of("evacuator"), "Print name, version and commit");
  const auto add_flags =
      +[](CLI::App& version, bool& as_json) { version.add_flag("--json", as_json, "As a JSON object"); };
  add_command(app, exit_code, "version", "Print the version and the commit it was built from", "", add_flags,
              print_version);
}

void add_completion(CLI::App& app, int& exit_code) {
  const auto add_flags = +[](CLI::App& completion, std::string& shell) {
    completion.add_option("SHELL", shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  };
  add_command(app, exit_code, "completion", "Print a completion script for a shell", kCompletionExamples, add_flags,
              [&app](const std::string& shell) {
                write_out(completion_script(shell, describe(app)));
                return 0;
              });
}

int run_command(const std::vector<std::string>& args) {
  CLI::App app{"Evacuator moves pods to better-suited nodes without disrupting their workloads.", "evacuator"};
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  int exit_code = 0;
  add_operator_commands(app, exit_code);
  add_planning_commands(app, exit_code);
  add_advise(app, exit_code, with_process_io);
  add_audit(app, exit_code);
  add_webhook_check(app, exit_code);
  add_extender(app, exit_code);
  add_version(app, exit_code);
  add_completion(app, exit_code);
  app.footer(kExamples);  // Must come last: commands added later would inherit the footer.
  const auto error = parse(app, args, write_out);
  if (!error) return exit_code;
  print_err("{}: {}\nRun `{} --help` for usage.\n", error->command, error->message, error->command);
  return 2;
}

}  // namespace

int run_evacuator(const std::vector<std::string>& args) {
  return with_output("evacuator", [&] { return run_command(args); });
}

}  // namespace cmd
