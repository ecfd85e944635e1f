#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/crypto/key.hpp"
#include "base/result.hpp"
#include "telemetry/audit/record.hpp"

/// Reading logs back: the order of the files, the check of their chain, the search. For `evacuator audit`.
namespace audit {

/// Calls `each` with every line of the file (without its newline; one that is too long is cut after kMaxLine + 1 bytes)
/// until it returns false. "-": standard input. An error names the file.
using EachLine = std::function<bool(std::string_view line, std::uint64_t number)>;
base::Status read_lines(const std::string& file, const EachLine& each);

/// The files in the order of the numbers of their first records. Those without a record come last.
base::Result<std::vector<std::string>> in_order(std::vector<std::string> files);

struct Break {
  std::string file;
  std::uint64_t line = 0;
  std::uint64_t seq = 0;  ///< of the record in that line, or where the next one should be when it is none
  std::string problem;
  friend bool operator==(const Break&, const Break&) = default;
};

struct FileReport {
  std::string file;
  std::uint64_t first_seq = 0;  ///< 0: it holds no record
  std::uint64_t last_seq = 0;
  std::uint64_t records = 0;
};

/// What the heads that are signed in the chain prove.
struct SignatureReport {
  std::uint64_t good = 0;                ///< heads whose signature is good
  std::uint64_t unknown_key = 0;         ///< heads signed with keys that are not given
  std::uint64_t unknown_after_good = 0;  ///< of those, after the newest head whose signature is good
  Head proven;  ///< newest head whose signature is good: the chain up to there is the operator's own
};

/// What is asked of a chain beside that it is unbroken.
struct VerifyOptions {
  std::optional<Head> anchor{};  ///< noted earlier, which the chain must contain
  bool from_first = false;       ///< it must begin with record 1
  std::vector<signing::KeyRing>
      keys{};  ///< its newest signed head must be good by them; empty: signatures are not checked
};

struct VerifyReport {
  std::vector<FileReport> files;  ///< in the order of the chain, up to the break
  std::uint64_t records = 0;
  std::uint64_t first_seq = 0;
  Head head;
  std::optional<Break> broken;  ///< the first broken link
  std::optional<Break> torn;    ///< an unfinished end that no record has vouched for yet: a crash, or a cut
  bool anchor_missing = false;  ///< the record that was asked for is not among them
  bool first_missing = false;   ///< record 1 was asked for and is not there
  bool unsigned_chain = false;  ///< keys were given, and no head in it is signed with one of them
  /// Keys were given, some heads are signed with them, and what follows the newest of these is more than the operator
  /// leaves unsigned (1,000 records, five minutes), or holds heads that are signed with others: whoever rewrites the
  /// end of a chain leaves that.
  bool unsigned_end = false;
  SignatureReport signatures;

  bool intact() const {
    return !broken && !torn && !anchor_missing && !first_missing && !unsigned_chain && !unsigned_end;
  }
};

/// Checks the chain through all files, given in any order. Errors: a file cannot be read.
base::Result<VerifyReport> verify(const std::vector<std::string>& files, const VerifyOptions& options = {});

}  // namespace audit
