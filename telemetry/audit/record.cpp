#include "telemetry/audit/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "api/json/strict_object.hpp"

namespace audit {
namespace {

/// Maximum size of one text, in bytes. Texts from servers and users have no limit.
constexpr std::size_t kMaxText = 1024;
constexpr std::size_t kMaxKey = 64;
constexpr std::size_t kMaxDetails = 16;
constexpr std::string_view kCutMark = "...";
/// Larger numbers are not exact in every JSON reader (2^53).
constexpr std::int64_t kMaxSeq = (std::int64_t{1} << 53) - 1;

/// Returns true for printable ASCII that needs no JSON escapes. Nearly all texts are.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; });
}

std::string json_string(std::string_view text) {
  if (is_plain(text)) return fmt::format("\"{}\"", text);
  return api::to_json_text(api::Json(std::string(text)));
}

/// Converts to one line of valid UTF-8, cut between code points.
std::string clean(std::string text, std::size_t limit = kMaxText) {
  if (text.size() <= limit && is_plain(text)) return text;
  std::string kept = std::move(text);
  if (kept.size() > limit) {
    std::size_t end = limit - kCutMark.size();
    while (end > 0 && (static_cast<unsigned char>(kept[end]) & 0xC0) == 0x80) --end;
    kept.resize(end);
    kept += kCutMark;
  }
  for (char& c : kept) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return api::Json::parse(json_string(kept)).get<std::string>();
}

std::string object_text(const ObjectRef& object) {
  return fmt::format(R"({{"kind":{},"namespace":{},"name":{},"uid":{}}})", json_string(object.kind),
                     json_string(object.ns), json_string(object.name), json_string(object.uid));
}

std::string detail_text(const std::map<std::string, std::string>& detail) {
  std::string text = "{";
  for (const auto& [key, value] : detail) {
    if (text.size() > 1) text += ',';
    text += json_string(key) + ':' + json_string(value);
  }
  return text + '}';
}

void read_seq(api::StrictObject& object, Record& record) {
  std::int64_t seq = 0;
  object.read("seq", seq);
  if (seq < 1 || seq > kMaxSeq) object.complain("seq", "must be a number from 1 to 2^53-1");
  record.seq = static_cast<std::uint64_t>(seq);
}

void read_time(api::StrictObject& object, Record& record) {
  std::string text;
  object.read("time", text);
  const auto time = base::parse_time(text);
  if (time) {
    record.time = *time;
  } else {
    object.complain("time", "must be a time such as 2026-11-21T12:00:00.000000Z");
  }
}

void read_detail(const api::Json* detail, api::StrictObject& object, Record& record) {
  if (detail == nullptr || !detail->is_object()) return object.complain("detail", "must be an object of strings");
  for (const auto& [key, value] : detail->items()) {
    if (value.is_string()) {
      record.detail[key] = value.get<std::string>();
    } else {
      object.complain("detail", "must be an object of strings");
    }
  }
}

ParsedLine read_members(api::StrictObject& root) {
  ParsedLine parsed;
  Record& record = parsed.record;
  read_seq(root, record);
  read_time(root, record);
  root.read("actor", record.actor);
  root.read("action", record.action);
  root.with("object", [&](api::StrictObject& object) {
    object.read("kind", record.object.kind);
    object.read("namespace", record.object.ns);
    object.read("name", record.object.name);
    object.read("uid", record.object.uid);
  });
  root.with("policy", [&](api::StrictObject& object) {
    object.read("name", record.policy.name);
    object.read("generation", record.policy.generation);
  });
  root.read("decision", record.decision);
  root.read("reason", record.reason);
  read_detail(root.find("detail"), root, record);
  root.read("prevHash", record.prev_hash);
  root.read("hash", parsed.hash);
  root.finish();
  return parsed;
}

std::string with_hash(std::string canonical_text, std::string_view hash) {
  canonical_text.pop_back();
  return canonical_text + fmt::format(R"(,"hash":"{}"}})", hash);
}

}  // namespace

std::string detail_of(const Record& record, std::string_view key) {
  const auto at = record.detail.find(std::string(key));
  return at == record.detail.end() ? std::string() : at->second;
}

Record bounded(Record record) {
  for (std::string* text : {&record.actor, &record.action, &record.object.kind, &record.object.ns, &record.object.name,
                            &record.object.uid, &record.policy.name, &record.decision, &record.reason}) {
    *text = clean(std::move(*text));
  }
  std::map<std::string, std::string> detail;
  for (auto& [key, value] : record.detail) {
    if (detail.size() == kMaxDetails) break;
    detail[clean(key, kMaxKey)] = clean(std::move(value));
  }
  record.detail = std::move(detail);
  return record;
}

std::string canonical(const Record& record) {
  return fmt::format(
      R"({{"seq":{},"time":"{}","actor":{},"action":{},"object":{},"policy":{{"name":{},"generation":{}}},)"
      R"("decision":{},"reason":{},"detail":{},"prevHash":{}}})",
      record.seq, base::format_micro_time(record.time), json_string(record.actor), json_string(record.action),
      object_text(record.object), json_string(record.policy.name), record.policy.generation,
      json_string(record.decision), json_string(record.reason), detail_text(record.detail),
      json_string(record.prev_hash));
}

Line seal(Record record, const Head& before) {
  record = bounded(std::move(record));
  record.seq = before.seq + 1;
  record.prev_hash = before.hash;
  std::string text = canonical(record);
  const std::string hash = crypto::sha256(text);
  return {with_hash(std::move(text), hash), {record.seq, hash}};
}

base::Result<ParsedLine> parse_line(std::string_view line) {
  if (line.size() > kMaxLine) return base::invalid(fmt::format("longer than {} bytes", kMaxLine));
  const auto json = api::parse_json(line);
  if (!json) return json.error();
  api::FieldErrors errors;
  api::StrictObject root(*json, api::FieldPath(), errors);
  ParsedLine parsed = read_members(root);
  if (!errors.empty()) return api::to_error(errors);
  if (with_hash(canonical(parsed.record), parsed.hash) != line) {
    return base::invalid("not in the canonical form: members are missing, or white space, order or spelling differ");
  }
  return parsed;
}

}  // namespace audit
