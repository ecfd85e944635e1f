#include <CLI/CLI.hpp>
#include <set>

#include "cmd/completion.hpp"

namespace cmd {
namespace {

/// Collects the names and flags of a command and of its subcommands, so that completion offers them too.
void collect_words(const CLI::App& command, CommandCompletion& words) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_snames()) words.flags.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) words.flags.push_back("--" + name);
  }
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
    words.subcommands.push_back(below->get_name());
    collect_words(*below, words);
  }
  std::set<std::string> seen;
  std::erase_if(words.flags, [&](const std::string& flag) { return !seen.insert(flag).second; });
}

}  // namespace

std::vector<CommandCompletion> describe(const CLI::App& app) {
  std::vector<CommandCompletion> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    CommandCompletion words{command->get_name(), command->get_description(), {}, {}};
    collect_words(*command, words);
    commands.push_back(std::move(words));
  }
  return commands;
}

}  // namespace cmd
