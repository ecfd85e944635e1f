#pragma once

/// `advise`: the group of commands that give advice and change nothing. The same in `evacuator` and in
/// `kubectl evacuator`.

#include <functional>

#include "cmd/advise/commands.hpp"
#include "cmd/session/io.hpp"

namespace CLI {
class App;
}

namespace cmd::advise {

/// What the flags fill in, for one run. It outlives the parsing.
struct Arguments {
  RequestsOptions requests;
  NodesOptions nodes;
  PlacementOptions placement;
};

/// A parsed command; returns the process's exit code.
using Command = std::function<int(plugin::Io& io)>;

/// Adds `advise` and its subcommands. run(command) is called when one of them was parsed.
void add_advise(CLI::App& app, Arguments& arguments, const std::function<void(const Command&)>& run);

}  // namespace cmd::advise
