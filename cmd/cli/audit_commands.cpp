#include "cmd/cli/commands.hpp"

#include <CLI/CLI.hpp>
#include <string>

#include "cmd/output.hpp"

namespace cmd {
namespace {

constexpr const char* kExitCodesOfVerify =
    "Exit code: 0 intact; 1 broken; 2 a file or flag cannot be read, or the output cannot be written; 3 intact except "
    "for an incomplete end; 4 the end is not signed.\n";
constexpr const char* kAuditVerifyExamples = R"(
Examples:
  evacuator audit verify audit.log audit.log.1
  evacuator audit verify --from-first --keys secret.yaml audit.log*
)";
constexpr const char* kAuditQueryExamples = R"(
Examples:
  evacuator audit query audit.log --pod web-1 --since 2h
)";

void add_audit_verify(CLI::App& audit, AuditVerifyOptions& options, int& exit_code) {
  CLI::App* verify = audit.add_subcommand("verify", "Find the first broken link of an audit log");
  verify
      ->add_option("FILE", options.files,
                   "Log files of one replica, including rotated files, in any order; - is standard input")
      ->required();
  verify->add_option("--contains", options.contains, "A record noted earlier that the chain must still contain")
      ->type_name("SEQ:HASH");
  verify->add_flag("--from-first", options.from_first,
                   "Require that the chain begins with record 1: nothing was removed before it");
  verify
      ->add_option("--keys", options.keys,
                   "The signing Secret (kubectl -n evacuator-system get secret evacuator-signing -o yaml), or a file "
                   "with the bytes of a key; may be repeated: a head in the chain must be signed with one of them")
      ->type_name("FILE");
  verify->add_option("-o,--output", options.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str()
      ->type_name("FORMAT");
  verify->footer(std::string(kExitCodesOfVerify) + kAuditVerifyExamples);
  // Returns 2 on output errors because 1 means that the log is broken.
  verify->callback([&] {
    exit_code = with_output(
        "evacuator", [&] { return run_audit_verify(options); }, 2);
  });
}

void add_audit_query(CLI::App& audit, AuditQueryOptions& options, int& exit_code) {
  CLI::App* query = audit.add_subcommand("query", "Search an audit log");
  query->add_option("FILE", options.files, "Log files, in any order; - is standard input")->required();
  const auto text = [&](const char* flag, std::string& target, const char* help, const char* type) {
    query->add_option(flag, target, help)->type_name(type);
  };
  text("-n,--namespace", options.ns, "Only objects in this namespace", "NAME");
  text("--pod", options.pod, "Only records about pods with this name", "NAME");
  text("--policy", options.policy, "Only records of this DeschedulerPolicy", "NAME");
  text("--action", options.action, "Action, such as PodNominated, PhaseChanged or CallAnswered", "ACTION");
  text("--decision", options.decision, "Result, such as Refused, Held or Failed", "DECISION");
  text("--reason", options.reason, "Reason, such as PDBBlocked", "REASON");
  text("--actor", options.actor, "Only records of this replica", "NAME");
  text("--since", options.since, "Start time (RFC 3339, or an age such as 2h)", "TIME");
  text("--until", options.until, "End time (RFC 3339, or an age such as 2h)", "TIME");
  query->add_option("--newest", options.newest, "Only the last N matching records")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  query->add_option("-o,--output", options.output, "table, json or yaml")
      ->check(CLI::IsMember({"table", "json", "yaml"}))
      ->capture_default_str()
      ->type_name("FORMAT");
  query->footer(kAuditQueryExamples);
  query->callback([&] { exit_code = run_audit_query(options); });
}

}  // namespace

void add_audit(CLI::App& app, AuditVerifyOptions& verify, AuditQueryOptions& query, int& exit_code) {
  CLI::App* audit = app.add_subcommand("audit", "Verify and search the operator's audit log");
  audit->require_subcommand(1);
  add_audit_verify(*audit, verify, exit_code);
  add_audit_query(*audit, query, exit_code);
}

}  // namespace cmd
