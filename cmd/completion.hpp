#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cmd {

/// What a completion script needs to know of one subcommand.
struct CommandWords {
  std::string name;
  std::string description;
  std::vector<std::string> flags;          ///< "--kubeconfig", "-o"; also those of its subcommands
  std::vector<std::string> subcommands{};  ///< "verify"; usually none
};

/// Reads the subcommands and their flags off the parser.
std::vector<CommandWords> describe(const CLI::App& app);

/// A script for bash, zsh or fish.
std::string completion_script(const std::string& shell, const std::vector<CommandWords>& commands);

}  // namespace cmd
