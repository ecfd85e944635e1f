#pragma once

/// Commands for a parser `app`. All references must outlive the parse.

#include <functional>

#include "cmd/session/io.hpp"

namespace CLI {
class App;
}

namespace cmd {

// Commands of `evacuator`. A parsed command runs and stores its exit code in `exit_code`.
void add_operator_commands(CLI::App& app, int& exit_code);  ///< run, uninstall, usage
void add_extender(CLI::App& app, int& exit_code);
void add_planning_commands(CLI::App& app, int& exit_code);  ///< simulate, validate, convert, explain
void add_audit(CLI::App& app, int& exit_code);
void add_webhook_check(CLI::App& app, int& exit_code);

/// Adds `advise`, whose commands give advice and change nothing, to either program. A parsed command runs with the Io
/// that `with_io` passes to its argument, and stores its exit code in `exit_code`.
void add_advise(CLI::App& app, int& exit_code, std::function<int(const std::function<int(plugin::Io&)>&)> with_io);

}  // namespace cmd
