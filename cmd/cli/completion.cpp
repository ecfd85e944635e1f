#include "cmd/cli/completion.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cmd {
namespace {

std::string bash_script(const std::vector<CommandCompletion>& commands) {
  std::string cases;
  for (const CommandCompletion& command : commands) {
    cases += fmt::format("    {}) words=\"{}\" below=\"{}\" ;;\n", command.name, fmt::join(command.flags, " "),
                         fmt::join(command.subcommands, " "));
  }
  return fmt::format(R"(# bash completion for evacuator: source <(evacuator completion bash)
_evacuator() {{
  local words below="" current=${{COMP_WORDS[COMP_CWORD]}}
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "{}" -- "$current")
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}    *) words="" ;;
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  elif ((COMP_CWORD == 2)) && [[ -n $below ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$below" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}}
complete -o filenames -F _evacuator evacuator
)",
                     fmt::join(names_of(commands), " "), cases);
}

std::string zsh_script(const std::vector<CommandCompletion>& commands) {
  return "#compdef evacuator\n# zsh completion: source <(evacuator completion zsh)\nautoload -U +X bashcompinit && "
         "bashcompinit\n" +
         bash_script(commands);
}

std::string fish_script(const std::vector<CommandCompletion>& commands) {
  std::string script = "# fish completion for evacuator: evacuator completion fish | source\n";
  for (const CommandCompletion& command : commands) {
    script += fmt::format("complete -c evacuator -n __fish_use_subcommand -f -a {} -d '{}'\n", command.name,
                          command.description);
    for (const std::string& word : command.subcommands) {
      script += fmt::format("complete -c evacuator -n '__fish_seen_subcommand_from {}' -f -a {}\n", command.name, word);
    }
    for (const std::string& flag : command.flags) {
      if (!flag.starts_with("--")) continue;
      script += fmt::format("complete -c evacuator -n '__fish_seen_subcommand_from {}' -l {}\n", command.name,
                            flag.substr(2));
    }
  }
  return script;
}

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

std::vector<std::string_view> names_of(const std::vector<CommandCompletion>& commands) {
  std::vector<std::string_view> names;
  for (const CommandCompletion& command : commands) names.push_back(command.name);
  return names;
}

std::string completion_script(const std::string& shell, const std::vector<CommandCompletion>& commands) {
  if (shell == "fish") return fish_script(commands);
  return shell == "zsh" ? zsh_script(commands) : bash_script(commands);
}

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

}  // namespace cmd
