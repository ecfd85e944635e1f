#pragma once

/// Command-line flags of `evacuator`. Each add_ function adds one command to the parser `app`. When parsed, the command
/// fills `options`, runs, and stores its exit code in `exit_code`. All references must outlive the parse.

#include "cmd/commands.hpp"
#include "cmd/convert/convert.hpp"
#include "cmd/explain/explain.hpp"
#include "cmd/extender/extender.hpp"
#include "cmd/offline/audit.hpp"

namespace CLI {
class App;
}

namespace cmd {

// Commands that need a cluster, in operator_commands.cpp.
void add_run(CLI::App& app, RunOptions& options, int& exit_code);
void add_uninstall(CLI::App& app, UninstallFlags& flags, int& exit_code);
void add_usage(CLI::App& app, UsageFlags& flags, int& exit_code);
void add_extender(CLI::App& app, ExtenderOptions& options, int& exit_code);

// Commands that work mainly on files, in offline_commands.cpp.
void add_simulate(CLI::App& app, SimulateOptions& options, int& exit_code);
void add_explain(CLI::App& app, ExplainOptions& options, int& exit_code);
void add_validate(CLI::App& app, ValidateOptions& options, int& exit_code);
void add_convert(CLI::App& app, ConvertOptions& options, int& exit_code);
void add_webhook_check(CLI::App& app, WebhookCheckOptions& options, int& exit_code);

/// Adds `audit verify` and `audit query`.
void add_audit(CLI::App& app, AuditVerifyOptions& verify, AuditQueryOptions& query, int& exit_code);

}  // namespace cmd
