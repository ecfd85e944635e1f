#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/crypto/hash.hpp"
#include "base/result.hpp"

/// Tamper-evident records of decisions and their actors: records, their chain, sinks, verification. docs/audit.md
/// describes them for users. Independent of the Kubernetes API except for names.
namespace audit {

/// Position in a chain: number and hash of the newest record. Before the first record: 0 and 64 zeros.
struct Head {
  std::uint64_t seq = 0;
  std::string hash = std::string(64, '0');
  friend bool operator==(const Head&, const Head&) = default;
};

/// Object that a record is about. Fields that do not apply are empty.
struct ObjectRef {
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
  friend bool operator==(const ObjectRef&, const ObjectRef&) = default;
};

/// Policy and its generation in force at the time. Empty name: no policy.
struct PolicyRef {
  std::string name;
  std::int64_t generation = 0;
  friend bool operator==(const PolicyRef&, const PolicyRef&) = default;
};

/// Values of Record::decision.
namespace decision {
inline constexpr std::string_view kNoted = "Noted";          ///< a fact without a decision
inline constexpr std::string_view kPlanned = "Planned";      ///< chosen; nothing has been changed yet
inline constexpr std::string_view kAllowed = "Allowed";      ///< it was done, or the server granted it
inline constexpr std::string_view kRefused = "Refused";      ///< it was not done; `reason` says why
inline constexpr std::string_view kHeld = "Held";            ///< it waits for what `reason` names
inline constexpr std::string_view kProceeded = "Proceeded";  ///< from one phase to the next
inline constexpr std::string_view kSucceeded = "Succeeded";
inline constexpr std::string_view kFailed = "Failed";
inline constexpr std::string_view kCancelled = "Cancelled";
}  // namespace decision

/// One record of the log. The log sets `seq` and `prev_hash`. The hash is not stored here, because it is computed from
/// the other fields.
struct Record {
  std::uint64_t seq = 0;
  base::TimePoint time{};
  std::string actor;   ///< "evacuator/<replica>"
  std::string action;  ///< CamelCase, listed in docs/audit.md
  ObjectRef object;
  PolicyRef policy;
  std::string decision;                       ///< one of decision::k…
  std::string reason;                         ///< CamelCase, as in conditions and events
  std::map<std::string, std::string> detail;  ///< further data, such as token, node, message
  std::string prev_hash;
  friend bool operator==(const Record&, const Record&) = default;
};

/// Returns the detail, or "" if absent.
std::string detail_of(const Record& record, std::string_view key);

/// Maximum length of a line, written or read.
inline constexpr std::size_t kMaxLine = 64 * 1024;

/// Limits the size of a record: cuts texts after 1024 bytes, drops details after the 16th, replaces control characters
/// with spaces and invalid UTF-8 with U+FFFD. The result fits into kMaxLine, and parsing its line returns an equal
/// record.
Record bounded(Record record);

/// Returns the canonical form, which is the hashed text: one JSON object without white space and with the members of
/// Record in this order and with these names: seq, time (RFC 3339, UTC, six decimals), actor, action, object {kind,
/// namespace, name, uid}, policy {name, generation}, decision, reason, detail (keys in byte order), prevHash. Strings
/// escape only quotation mark, backslash and control characters.
std::string canonical(const Record& record);

/// A log line without newline: the canonical form with `,"hash":"…"` before the last brace.
struct Line {
  std::string text;
  Head head;  ///< head after this line
};
/// Numbers the record and links it to `before`.
Line seal(Record record, const Head& before);

/// A parsed line. `hash` is the hash in the line; intact() checks it against the content.
struct ParsedLine {
  Record record;
  std::string hash;
  bool intact() const { return crypto::sha256(canonical(record)) == hash; }
  Head head() const { return {record.seq, hash}; }
};
/// Parses `line` (without newline) strictly: accepts exactly the output of seal(), so that no changed byte goes
/// unnoticed. Never throws, whatever the input.
base::Result<ParsedLine> parse_line(std::string_view line);

}  // namespace audit
