#pragma once

/// Flags of the `advise` command group, whose commands give advice and change nothing. Shared by `evacuator` and
/// `kubectl evacuator`.

#include <functional>

#include "cmd/advise/commands.hpp"
#include "cmd/session/io.hpp"

namespace CLI {
class App;
}

namespace cmd::advise {

/// Option values that the parsed flags fill in, for one run. Must outlive the parse.
struct Arguments {
  RequestsOptions requests;
  NodesOptions nodes;
  PlacementOptions placement;
};

/// A parsed command. Returns the exit code of the process.
using Command = std::function<int(plugin::Io& io)>;

/// Adds `advise` and its subcommands to `app`. Calls run(command) if one of them was parsed.
void add_advise(CLI::App& app, Arguments& arguments, const std::function<void(const Command&)>& run);

}  // namespace cmd::advise
