#include "cmd/plugin/complete.hpp"

#include <algorithm>

namespace cmd::plugin {
namespace {

/// Cobra's ShellCompDirectiveNoFileComp.
constexpr const char* kNoFiles = ":4\n";

const CommandCompletion* command_in(const std::vector<CommandCompletion>& commands,
                                    const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const auto at = std::ranges::find(commands, words[i], &CommandCompletion::name);
    if (at != commands.end()) return &*at;
  }
  return nullptr;
}

}  // namespace

std::string completions(const std::vector<CommandCompletion>& commands, const std::vector<std::string>& words) {
  const std::string current = words.empty() ? "" : words.back();
  const CommandCompletion* command = command_in(commands, words);
  std::string text;
  if (command && current.starts_with("-")) {
    for (const std::string& flag : command->flags) {
      if (flag.starts_with(current)) text += flag + "\n";
    }
  }
  if (!command) {
    for (const CommandCompletion& each : commands) {
      if (each.name.starts_with(current)) text += each.name + "\t" + each.description + "\n";
    }
  }
  return text + kNoFiles;
}

}  // namespace cmd::plugin
