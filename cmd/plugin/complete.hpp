#pragma once

#include <string>
#include <vector>

#include "cmd/completion.hpp"

namespace cmd::plugin {

/// The answer to kubectl's Tab (a program kubectl_complete-evacuator beside the plugin hands the words over): one
/// candidate a line, and a last line ":4" that asks the shell not to offer files. The last word is the one being typed.
std::string completions(const std::vector<CommandWords>& commands, const std::vector<std::string>& words);

}  // namespace cmd::plugin
