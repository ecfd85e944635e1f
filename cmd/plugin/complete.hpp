#pragma once

#include <string>
#include <vector>

#include "cmd/completion.hpp"

namespace cmd::plugin {

/// Returns the response to shell completion by kubectl, which calls the program kubectl_complete-evacuator installed
/// next to the plugin: one candidate per line, then ":4", which disables file completion. The last word is the one
/// being typed.
std::string completions(const std::vector<CommandCompletion>& commands, const std::vector<std::string>& words);

}  // namespace cmd::plugin
