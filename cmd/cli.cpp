#include "cmd/cli.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "api/json/strict_object.hpp"
#include "cmd/advise/cli.hpp"
#include "cmd/cli/commands.hpp"
#include "cmd/completion.hpp"
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

void add_version(CLI::App& app, bool& as_json, int& exit_code) {
  app.set_version_flag("--version", version_of("evacuator"), "Print name, version and commit");
  CLI::App* version = app.add_subcommand("version", "Print the version and the commit it was built from");
  version->add_flag("--json", as_json, "As a JSON object");
  version->callback([&] { exit_code = print_version(as_json); });
}

void add_advise(CLI::App& app, advise::Arguments& arguments, int& exit_code) {
  advise::add_advise(app, arguments, [&exit_code](const advise::Command& command) {
    plugin::ProcessIo process;
    exit_code = command(process.io());
  });
}

void add_completion(CLI::App& app, std::string& shell) {
  CLI::App* completion = app.add_subcommand("completion", "Print a completion script for a shell");
  completion->add_option("SHELL", shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->footer(kCompletionExamples);
  completion->callback([&] { write_out(completion_script(shell, describe(app))); });
}

/// Option values that the parsed flags fill in, for one run.
struct Arguments {
  RunOptions run;
  UninstallFlags uninstall;
  UsageFlags usage;
  SimulateOptions simulate;
  ValidateOptions validate;
  ConvertOptions convert;
  ExplainOptions explain;
  advise::Arguments advise;
  AuditVerifyOptions audit_verify;
  AuditQueryOptions audit_query;
  WebhookCheckOptions webhook_check;
  ExtenderOptions extender;
  bool version_as_json = false;
  std::string shell;
};

void add_commands(CLI::App& app, Arguments& arguments, int& exit_code) {
  add_run(app, arguments.run, exit_code);
  add_uninstall(app, arguments.uninstall, exit_code);
  add_usage(app, arguments.usage, exit_code);
  add_simulate(app, arguments.simulate, exit_code);
  add_validate(app, arguments.validate, exit_code);
  add_convert(app, arguments.convert, exit_code);
  add_explain(app, arguments.explain, exit_code);
  add_advise(app, arguments.advise, exit_code);
  add_audit(app, arguments.audit_verify, arguments.audit_query, exit_code);
  add_webhook_check(app, arguments.webhook_check, exit_code);
  add_extender(app, arguments.extender, exit_code);
  add_version(app, arguments.version_as_json, exit_code);
  add_completion(app, arguments.shell);
}

/// Returns the path of the parsed command, such as "evacuator audit query".
std::string path_of(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? app.get_name() : app.get_name() + " " + path_of(*named.front());
}

/// Prints the parse error and a reference to the help text.
void complain(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& args) {
  std::string what = error.what();
  if (app.get_subcommands().empty() && !args.empty() && !args.front().starts_with('-')) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(command->get_name());
    const std::vector<std::string_view> known(names.begin(), names.end());
    what = fmt::format("unknown command \"{}\"{}", args.front(), api::did_you_mean(args.front(), known));
  }
  const std::string path = path_of(app);
  print_err("{}: {}\nRun `{} --help` for usage.\n", path, what, path);
}

int run_command(const std::vector<std::string>& args) {
  CLI::App app{"Evacuator moves pods to better-suited nodes without disrupting their workloads.", "evacuator"};
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  int exit_code = 0;
  Arguments arguments;
  add_commands(app, arguments, exit_code);
  app.footer(kExamples);  // Must come last: commands added later would inherit the footer.

  std::vector<std::string> reversed(args.rbegin(), args.rend());  // CLI11 expects reversed order
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help and version
    complain(app, error, args);
    return 2;
  }
  return exit_code;
}

}  // namespace

int run_evacuator(const std::vector<std::string>& args) {
  return with_output("evacuator", [&] { return run_command(args); });
}

}  // namespace cmd
