#include "cmd/cli/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "api/json/strict_object.hpp"
#include "cmd/cli/completion.hpp"

namespace cmd {
namespace {

/// Collects the names and flags of a command and of its subcommands, so that completion offers them too.
void collect_words(const CLI::App& command, CommandCompletion& words) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_snames()) words.flags.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) words.flags.push_back("--" + name);
  }
  for (const CommandCompletion& below : describe(command)) {
    words.subcommands.push_back(below.name);
    words.flags.insert(words.flags.end(), below.flags.begin(), below.flags.end());
  }
  std::set<std::string> seen;
  std::erase_if(words.flags, [&](const std::string& flag) { return !seen.insert(flag).second; });
}

/// Returns the path of the parsed command, such as "evacuator audit query".
std::string path_of(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? app.get_name() : app.get_name() + " " + path_of(*named.front());
}

/// Returns the problem with the arguments. Replaces the library's text for an unknown command.
std::string problem_of(const CLI::App& app, const std::vector<std::string>& args, const CLI::ParseError& error) {
  if (args.empty() || args.front().starts_with('-')) return error.what();
  const auto commands = describe(app);
  const std::vector<std::string_view> known = names_of(commands);
  if (std::ranges::find(known, args.front()) != known.end()) return error.what();
  return fmt::format("unknown command \"{}\"{}", args.front(), api::did_you_mean(args.front(), known));
}

}  // namespace

CLI::Option* repeated(CLI::App& app, const char* flags, std::vector<std::string>& target, const char* placeholder,
                      const char* help) {
  return option(app, flags, target, placeholder, help)->allow_extra_args(false);
}

CLI::Option* one_of(CLI::App& app, const char* flags, std::string& target, std::vector<std::string> words,
                    const char* placeholder, const char* help) {
  return defaulted(app, flags, target, placeholder, help)->check(CLI::IsMember(std::move(words)));
}

CLI::Option* output_format(CLI::App& app, std::string& target, std::vector<std::string> formats, const char* help) {
  return one_of(app, "-o,--output", target, std::move(formats), "FORMAT", help);
}

void add_cluster_flags(CLI::App& app, std::string& kubeconfig, std::string& context) {
  option(app, "--kubeconfig", kubeconfig, "FILE",
         "Kubeconfig file (default: $KUBECONFIG, ~/.kube/config, the pod's service account)");
  option(app, "--context", context, "NAME", "Kubeconfig context");
}

std::optional<UsageError> parse(CLI::App& app, const std::vector<std::string>& args,
                                const std::function<void(std::string_view)>& out) {
  std::vector<std::string> reversed(args.rbegin(), args.rend());  // CLI11 expects reversed order
  try {
    app.parse(reversed);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return UsageError{path_of(app), problem_of(app, args, error)};
    std::ostringstream text;
    app.exit(error, text, text);  // help and version
    out(text.str());
    return std::nullopt;
  }
}

std::vector<CommandCompletion> describe(const CLI::App& app) {
  std::vector<CommandCompletion> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back({command->get_name(), command->get_description(), {}, {}});
    collect_words(*command, commands.back());
  }
  return commands;
}

}  // namespace cmd
