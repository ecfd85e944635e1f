#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/crypto/hash.hpp"
#include "base/result.hpp"

/// A tamper-evident record of what was decided, and by whom: records, their chain, where they go, how they are checked.
/// The user's side is docs/audit.md. Knows nothing of Kubernetes but the names of things.
namespace audit {

/// Where a chain has come to: the newest record's number and hash. Before the first record: 0 and 64 zeros.
struct Head {
  std::uint64_t seq = 0;
  std::string hash = std::string(64, '0');
  friend bool operator==(const Head&, const Head&) = default;
};

/// What a record is about. Parts that do not apply are empty.
struct ObjectRef {
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
  friend bool operator==(const ObjectRef&, const ObjectRef&) = default;
};

/// The policy under which it happened, in the edition that was in force. Empty name: none.
struct PolicyRef {
  std::string name;
  std::int64_t generation = 0;
  friend bool operator==(const PolicyRef&, const PolicyRef&) = default;
};

/// Values of Record::decision.
namespace decision {
inline constexpr std::string_view kNoted = "Noted";          ///< a fact, nothing was decided
inline constexpr std::string_view kPlanned = "Planned";      ///< chosen; nothing is touched yet
inline constexpr std::string_view kAllowed = "Allowed";      ///< it was done, or the server granted it
inline constexpr std::string_view kRefused = "Refused";      ///< it was not done: `reason` says why
inline constexpr std::string_view kHeld = "Held";            ///< it waits for what `reason` names
inline constexpr std::string_view kProceeded = "Proceeded";  ///< from one phase into the next
inline constexpr std::string_view kSucceeded = "Succeeded";
inline constexpr std::string_view kFailed = "Failed";
inline constexpr std::string_view kCancelled = "Cancelled";
}  // namespace decision

/// One line of the log. The log itself fills in `seq` and `prev_hash`; `hash` is never stored here: it follows from the
/// rest.
struct Record {
  std::uint64_t seq = 0;
  base::TimePoint time{};
  std::string actor;   ///< "evacuator/<replica>"
  std::string action;  ///< CamelCase; the list is in docs/audit.md
  ObjectRef object;
  PolicyRef policy;
  std::string decision;                       ///< one of decision::k…
  std::string reason;                         ///< CamelCase, as in conditions and events
  std::map<std::string, std::string> detail;  ///< whatever else tells: token, node, message…
  std::string prev_hash;
  friend bool operator==(const Record&, const Record&) = default;
};

/// Longest line that is written or read.
inline constexpr std::size_t kMaxLine = 64 * 1024;

/// Cuts what is too long (texts after 1024 bytes, details after the 16th), turns control characters into spaces and
/// bytes that are no UTF-8 into U+FFFD: what comes out fits into kMaxLine and reads back equal.
Record bounded(Record record);

/// The canonical form, the bytes that are hashed: one JSON object without white space, the members of Record in this
/// order and under these names: seq, time (RFC 3339, UTC, six decimals), actor, action, object {kind, namespace, name,
/// uid}, policy {name, generation}, decision, reason, detail (keys in byte order), prevHash. Strings escape only the
/// quotation mark, the backslash and control characters.
std::string canonical(const Record& record);

/// A record as it stands in the log, without the newline: the canonical form with `,"hash":"…"` before the last brace.
struct Line {
  std::string text;
  Head head;  ///< after this line
};
/// Numbers the record and links it to `before`.
Line seal(Record record, const Head& before);

/// A line as read. `hash` is what it claims; intact() tells whether the content bears it out.
struct ParsedLine {
  Record record;
  std::string hash;
  bool intact() const { return signing::sha256(canonical(record)) == hash; }
  Head head() const { return {record.seq, hash}; }
};
/// Strict: exactly what seal() writes, so that not one byte can change unseen. `line` without its newline. Never
/// throws, whatever the input.
base::Result<ParsedLine> parse_line(std::string_view line);

}  // namespace audit
