#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "api/json/yaml.hpp"
#include "base/crypto/key.hpp"
#include "cmd/commands.hpp"
#include "cmd/input/files.hpp"
#include "cmd/output.hpp"
#include "cmd/table.hpp"
#include "controllers/evacuation/origin/keys.hpp"
#include "telemetry/audit/query.hpp"
#include "telemetry/audit/verify.hpp"

namespace cmd {
namespace {

constexpr int kIntact = 0;
constexpr int kBroken = 1;
constexpr int kUnusable = 2;
constexpr int kTorn = 3;
constexpr int kUnsignedEnd = 4;

base::Result<std::optional<audit::Head>> parse_anchor(const std::string& text) {
  if (text.empty()) return std::optional<audit::Head>();
  audit::Head head;
  const std::size_t colon = text.find(':');
  const char* end = text.data() + std::min(colon, text.size());
  const auto [stopped, failed] = std::from_chars(text.data(), end, head.seq);
  head.hash = colon == std::string::npos ? "" : text.substr(colon + 1);
  const bool is_hash = head.hash.size() == 64 && head.hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (failed != std::errc() || stopped != end || head.seq == 0 || !is_hash) {
    return base::invalid("--contains: must be SEQ:HASH, the hash with 64 lower-case hex digits");
  }
  return std::optional(head);
}

constexpr std::size_t kMaxKeyBytes = std::size_t{64} << 10;

/// Reads keys from a Secret as printed by kubectl, or from a file with the bytes of one key.
base::Result<crypto::KeyRing> read_keys(const std::string& file) {
  auto text = read_file(file, kMaxKeyBytes);
  if (!text) return text.error();
  const auto documents = api::parse_yaml(*text);
  if (documents && documents->size() == 1 && documents->front().is_object() && documents->front().contains("data")) {
    auto content = controllers::decode_signing_secret(documents->front());
    if (!content) return content.error().during("--keys " + file);
    return std::move(content->keys);
  }
  auto key = crypto::Key::from_bytes(*std::move(text));
  if (!key) return key.error().during("--keys " + file);
  return crypto::KeyRing{*std::move(key), {}};
}

base::Result<audit::VerifyOptions> verify_options(const AuditVerifyOptions& options) {
  audit::VerifyOptions wanted;
  auto anchor = parse_anchor(options.contains);
  if (!anchor) return anchor.error();
  wanted.anchor = *std::move(anchor);
  wanted.from_first = options.from_first;
  for (const std::string& file : options.keys) {
    auto keys = read_keys(file);
    if (!keys) return keys.error();
    wanted.keys.push_back(*std::move(keys));
  }
  return wanted;
}

api::Json as_json(const audit::Break& at) {
  return {{"file", at.file}, {"line", at.line}, {"seq", at.seq}, {"problem", at.problem}};
}

api::Json as_json(const audit::VerifyReport& report) {
  api::Json json = {{"intact", report.intact()},
                    {"records", report.records},
                    {"firstSeq", report.first_seq},
                    {"lastSeq", report.head.seq},
                    {"lastHash", report.head.hash},
                    {"anchorMissing", report.anchor_missing},
                    {"firstMissing", report.first_missing},
                    {"unsigned", report.unsigned_chain},
                    {"unsignedEnd", report.unsigned_end},
                    {"files", api::Json::array()}};
  json["signatures"] = {{"good", report.signatures.good}, {"unknownKey", report.signatures.unknown_key}};
  if (report.signatures.good > 0) json["signatures"]["provenUpTo"] = report.signatures.proven.seq;
  for (const audit::FileReport& file : report.files) {
    json["files"].push_back(
        {{"file", file.file}, {"firstSeq", file.first_seq}, {"lastSeq", file.last_seq}, {"records", file.records}});
  }
  if (report.broken) json["broken"] = as_json(*report.broken);
  if (report.torn) json["torn"] = as_json(*report.torn);
  return json;
}

void print_place(const char* what, const audit::Break& at) {
  print_out("{}: {}:{}: seq {}: {}\n", what, at.file, at.line, at.seq, at.problem);
}

void print_proof(const audit::VerifyReport& report, const AuditVerifyOptions& options) {
  const auto line = [](bool proven, const std::string& text) {
    print_out("  {} {}\n", proven ? "proven:    " : "not proven:", text);
  };
  const bool whole = report.first_seq == 1;
  line(true, "no record between the first and the last was changed, moved, inserted or removed individually");
  line(whole,
       whole ? "nothing is missing before the first record: it is record 1"
             : fmt::format("the records before record {} are missing (--from-first requires them)", report.first_seq));
  const audit::Head& proven = report.signatures.proven;
  if (report.signatures.good > 0) {
    line(true, fmt::format("the operator wrote the records up to {}: it signed that head", proven.seq));
  } else {
    line(false,
         "that the operator wrote the records: anyone with write access to the file can compute a complete chain "
         "(--keys verifies it)");
  }
  if (report.signatures.good > 0 && proven.seq < report.head.seq) {
    line(false, fmt::format("records {} to {}: no subsequent head is signed with these keys", proven.seq + 1,
                            report.head.seq));
  }
  if (!options.contains.empty()) line(true, "the chain extends at least to " + options.contains);
  line(false,
       fmt::format("that no records followed record {}: compare it with a head that is stored elsewhere (--contains)",
                   report.head.seq));
}

void print_report(const audit::VerifyReport& report, const AuditVerifyOptions& options) {
  for (const audit::FileReport& file : report.files) {
    if (file.records == 0) {
      print_out("{}: no records\n", file.file);
    } else {
      print_out("{}: {} records, {} to {}\n", file.file, file.records, file.first_seq, file.last_seq);
    }
  }
  if (report.broken) print_place("BROKEN", *report.broken);
  if (report.torn) print_place("UNFINISHED END", *report.torn);
  if (report.anchor_missing)
    print_out("MISSING: {} is not in this chain: its end was truncated or rewritten\n", options.contains);
  if (report.first_missing)
    print_out("MISSING: record 1: the chain begins with record {}, its beginning was removed\n", report.first_seq);
  if (report.unsigned_chain) {
    print_out(
        "NOT SIGNED: no head in this chain is signed with these keys ({} are signed with other keys): it was "
        "rewritten, or the keys are from another period\n",
        report.signatures.unknown_key);
  }
  if (report.unsigned_end) {
    print_out(
        "END NOT SIGNED: records {} to {}: more than the operator leaves unsigned, or their heads are signed with keys "
        "that are not given ({}): it was rewritten, or the keys are from another period\n",
        report.signatures.proven.seq + 1, report.head.seq, report.signatures.unknown_after_good);
  }
  if (!report.broken && report.first_seq > 1) {
    print_out("note: the chain begins with record {}; the earlier records are not in these files\n", report.first_seq);
  }
  if (report.intact())
    print_out("intact: {} records, up to {}:{}\n", report.records, report.head.seq, report.head.hash);
  const bool is_whole = report.intact() || (report.unsigned_end && !report.torn);
  if (is_whole && report.records > 0) print_proof(report, options);
}

int exit_code_of(const audit::VerifyReport& report) {
  if (report.broken || report.anchor_missing || report.first_missing || report.unsigned_chain) return kBroken;
  if (report.torn) return kTorn;
  return report.unsigned_end ? kUnsignedEnd : kIntact;
}

int complain(const char* command, const base::Error& error) {
  print_err("evacuator audit {}: {}\n", command, error.message);
  return kUnusable;
}

base::Result<std::optional<base::TimePoint>> parse_when(const char* flag, const std::string& text) {
  if (text.empty()) return std::optional<base::TimePoint>();
  if (const auto time = base::parse_time(text)) return time;
  if (const auto ago = base::parse_duration(text)) return std::optional(base::SystemClock().now() - *ago);
  return base::invalid(
      fmt::format("{}: \"{}\" is neither a time such as 2026-11-21T12:00:00Z nor an age such as 2h", flag, text));
}

base::Result<audit::Filter> filter_of(const AuditQueryOptions& options) {
  const auto since = parse_when("--since", options.since);
  if (!since) return since.error();
  const auto until = parse_when("--until", options.until);
  if (!until) return until.error();
  return audit::Filter{options.ns,     options.pod,   options.policy, options.action, options.decision,
                       options.reason, options.actor, *since,         *until};
}

/// Returns the most significant details of a record, short enough for a table.
std::string summary_of(const audit::Record& record) {
  std::string text;
  for (const char* key :
       {"from", "to", "call", "code", "blocker", "node", "nominated", "created", "refused", "token", "message"}) {
    if (const std::string detail = detail_of(record, key); !detail.empty())
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, detail);
  }
  return text;
}

std::string object_of(const audit::ObjectRef& object) {
  if (object.name.empty()) return object.kind;
  return object.kind + "/" + (object.ns.empty() ? "" : object.ns + "/") + object.name;
}

void print_table(const std::vector<audit::ParsedLine>& lines) {
  Table table({"SEQ", "TIME", "ACTOR", "ACTION", "OBJECT", "POLICY", "DECISION", "REASON", "DETAIL"});
  for (const audit::ParsedLine& line : lines) {
    const audit::Record& record = line.record;
    table.add_row({std::to_string(record.seq), base::format_time(record.time), record.actor, record.action,
                   object_of(record.object), record.policy.name, record.decision, record.reason, summary_of(record)});
  }
  write_out(lines.empty() ? "No records found.\n" : table.render());
}

api::Json as_json(const audit::ParsedLine& line) {
  api::Json json = api::Json::parse(audit::canonical(line.record));
  json["hash"] = line.hash;
  return json;
}

}  // namespace

int run_audit_verify(const AuditVerifyOptions& options) {
  const auto wanted = verify_options(options);
  if (!wanted) return complain("verify", wanted.error());
  const auto report = audit::verify(options.files, *wanted);
  if (!report) return complain("verify", report.error());
  if (options.output == "json") {
    print_out("{}\n", as_json(*report).dump(2));
  } else {
    print_report(*report, options);
  }
  return exit_code_of(*report);
}

int run_audit_query(const AuditQueryOptions& options) {
  const auto filter = filter_of(options);
  if (!filter) return complain("query", filter.error());
  const auto result = audit::query(options.files, *filter, static_cast<std::size_t>(std::max(options.newest, 0)));
  if (!result) return complain("query", result.error());
  if (result->unreadable > 0) {
    print_err("evacuator audit query: {} lines are not audit records; run evacuator audit verify\n",
              result->unreadable);
  }
  if (options.output == "table") {
    print_table(result->lines);
    return kIntact;
  }
  api::Json all = api::Json::array();
  for (const audit::ParsedLine& line : result->lines) all.push_back(as_json(line));
  write_out(options.output == "json" ? all.dump(2) + "\n" : api::to_yaml(all));
  return kIntact;
}

}  // namespace cmd
