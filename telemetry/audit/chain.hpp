#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "telemetry/audit/record.hpp"

/// Checks a chain line by line. The log checks the tail of its file at startup, the verifier checks all of it. Pure.
namespace audit {

/// Actions of the records that the log writes about itself.
namespace action {
inline constexpr std::string_view kLogOpened = "LogOpened";  ///< the log was opened, at startup or after a failure
/// The buffer overflowed while the log could not be written.
inline constexpr std::string_view kRecordsLost = "RecordsLost";
}  // namespace action

/// Incomplete lines left by a crash or a full disk. The following LogOpened record vouches for them.
struct Torn {
  std::size_t bytes = 0;
  std::string sha256;  ///< of the torn bytes, without the last newline
  friend bool operator==(const Torn&, const Torn&) = default;
};
/// Keys of Record::detail with which a LogOpened record vouches for the torn bytes before it.
inline constexpr std::string_view kTornBytes = "tornBytes";
inline constexpr std::string_view kTornSha256 = "tornSha256";
void add_torn_detail(const Torn& torn, Record& record);

/// Content of the end of a file.
struct Tail {
  std::optional<ParsedLine> last;   ///< newest readable record, nullopt if `bytes` has none
  std::optional<std::string> torn;  ///< unreadable lines after `last`, without the last newline; nullopt if none
  bool ends_with_newline = true;
};
/// `bytes` may begin in the middle of a line.
Tail read_tail(std::string_view bytes);

/// Checks one chain. Feed it the lines of all files in order.
class ChainChecker {
 public:
  /// Returns a complaint, or "" if the line continues the chain. An unreadable line is not reported at once, because
  /// the next record may vouch for it. If that record does not, feed() complains about the unreadable lines and
  /// unexplained() remains true.
  std::string feed(std::string_view line);

  /// Returns true if unreadable lines follow the last record. At the end of a file they are the torn end left by a
  /// crash.
  bool has_unreadable_tail() const { return unexplained_.has_value(); }
  /// Why the first unexplained line cannot be read.
  const std::string& unexplained_why() const { return why_; }

  std::uint64_t records() const { return records_; }
  const Head& head() const { return head_; }
  /// seq of the first record fed.
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
