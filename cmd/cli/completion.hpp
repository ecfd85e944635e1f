#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace cmd {

/// Words of one subcommand for a completion script.
struct CommandCompletion {
  std::string name;
  std::string description;
  std::vector<std::string> flags;          ///< "--kubeconfig", "-o", including those of its subcommands
  std::vector<std::string> subcommands{};  ///< such as "verify"; usually empty
};

/// Returns the subcommands of the parser with their flags.
std::vector<CommandCompletion> describe(const CLI::App& app);
std::vector<std::string_view> names_of(const std::vector<CommandCompletion>& commands);

/// Returns the script of `evacuator` for a shell: bash, zsh or fish.
std::string completion_script(const std::string& shell, const std::vector<CommandCompletion>& commands);

/// Returns the response to shell completion by kubectl, which calls the program kubectl_complete-evacuator installed
/// next to the plugin: one candidate per line, then ":4", which disables file completion. The last word is the one
/// being typed.
std::string completions(const std::vector<CommandCompletion>& commands, const std::vector<std::string>& words);

}  // namespace cmd
