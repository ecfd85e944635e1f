#pragma once

/// The command line of both programs. Only cmd/cli and the main function of the demo know CLI11.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmd {

/// Adds an option whose value has the name `placeholder` in the help text.
template <typename T>
CLI::Option* option(CLI::App& app, const char* flags, T& target, const char* placeholder, const char* help) {
  return app.add_option(flags, target, help)->type_name(placeholder);
}

/// Adds an option whose default value is in the help text.
template <typename T>
CLI::Option* defaulted(CLI::App& app, const char* flags, T& target, const char* placeholder, const char* help) {
  return option(app, flags, target, placeholder, help)->capture_default_str();
}

/// Adds an option that takes one value each time it is given.
CLI::Option* repeated(CLI::App& app, const char* flags, std::vector<std::string>& target, const char* placeholder,
                      const char* help);

/// Adds an option that takes one of `words`. Its default value is in the help text.
CLI::Option* one_of(CLI::App& app, const char* flags, std::string& target, std::vector<std::string> words,
                    const char* placeholder, const char* help);

/// Adds -o and --output.
CLI::Option* output_format(CLI::App& app, std::string& target, std::vector<std::string> formats, const char* help);

/// Adds --kubeconfig and --context, for programs that people run.
void add_cluster_flags(CLI::App& app, std::string& kubeconfig, std::string& context);

/// Adds a command. If it is parsed, stores the exit code `run(options)` in `exit_code`, which must outlive the parse.
template <typename Options, typename Run>
void add_command(CLI::App& parent, int& exit_code, const char* name, const char* description, const std::string& footer,
                 void (*add_flags)(CLI::App&, Options&), Run run) {
  CLI::App* command = parent.add_subcommand(name, description);
  const auto options = std::make_shared<Options>();
  add_flags(*command, *options);
  command->footer(footer);
  command->callback([options, run, &exit_code] { exit_code = run(*options); });
}

/// An error in the arguments.
struct UsageError {
  std::string command;  ///< path of the command, such as "evacuator audit query"
  std::string message;
};

/// Parses the arguments and runs the command that they name. Writes help texts and versions to `out`. Returns the error
/// if the arguments are invalid.
std::optional<UsageError> parse(CLI::App& app, const std::vector<std::string>& args,
                                const std::function<void(std::string_view)>& out);

}  // namespace cmd
