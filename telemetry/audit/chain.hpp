#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "telemetry/audit/record.hpp"

/// Following a chain line by line: what the log does with the tail of its file at a start, and the verifier with all of
/// it. Pure.
namespace audit {

/// Actions of the log's own records.
namespace action {
inline constexpr std::string_view kLogOpened = "LogOpened";  ///< the log goes on: after a start or a failure
inline constexpr std::string_view kRecordsLost =
    "RecordsLost";  ///< the buffer was full while the log could not be written
}  // namespace action

/// Lines that a crash (or a full disk) left unfinished, before the record that vouches for them.
struct Torn {
  std::size_t bytes = 0;
  std::string sha256;  ///< of those bytes, without the last newline
  friend bool operator==(const Torn&, const Torn&) = default;
};
/// Keys of Record::detail by which a LogOpened record vouches for the torn bytes before it.
inline constexpr std::string_view kTornBytes = "tornBytes";
inline constexpr std::string_view kTornSha256 = "tornSha256";
void vouch_for(const Torn& torn, Record& record);

/// What the end of a file holds.
struct Tail {
  std::optional<ParsedLine> last;   ///< newest readable record; nullopt: there is none in `bytes`
  std::optional<std::string> torn;  ///< unreadable lines after it, without the last newline; nullopt: none
  bool ends_with_newline = true;
};
/// `bytes` may begin anywhere in a line.
Tail read_tail(std::string_view bytes);

/// Checks one chain. Feed it the lines of each file in order.
class ChainChecker {
 public:
  /// A complaint, or "" when the line carries the chain on. An unreadable line is no complaint yet: the next record may
  /// vouch for it. If that does not, the complaint is about the unreadable lines, and unexplained() is still true.
  std::string feed(std::string_view line);

  /// Unreadable lines came since the last record: a crash's torn end, when nothing follows.
  bool unexplained() const { return unexplained_.has_value(); }
  /// Why the first of them cannot be read.
  const std::string& unexplained_why() const { return why_; }

  std::uint64_t records() const { return records_; }
  const Head& head() const { return head_; }
  /// Number of the first record seen.
  std::uint64_t first_seq() const { return first_seq_; }

 private:
  void keep(std::string_view line, std::string why);
  std::string check(const ParsedLine& line);
  std::string check_link(const ParsedLine& line);

  Head head_;
  std::uint64_t records_ = 0;
  std::uint64_t first_seq_ = 0;
  std::optional<std::string> unexplained_;
  std::string why_;
};

}  // namespace audit
