#pragma once

#include <string>
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

std::string completion_script(const std::string& shell, const std::vector<CommandCompletion>& commands);

}  // namespace cmd
