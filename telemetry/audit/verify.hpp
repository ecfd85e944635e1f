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

/// Reads and verifies logs for `evacuator audit`: file order, check of the chain, search.
namespace audit {

/// Calls `each` with every line of the file, without its newline, until `each` returns false. Lines are cut after
/// kMaxLine + 1 bytes. "-" reads standard input. Errors name the file.
using EachLine = std::function<bool(std::string_view line, std::uint64_t number)>;
base::Status read_lines(const std::string& file, const EachLine& each);

/// Sorts files by the seq of their first records. Files without a record come last.
base::Result<std::vector<std::string>> sort_by_seq(std::vector<std::string> files);

struct Break {
  std::string file;
  std::uint64_t line = 0;
  std::uint64_t seq = 0;  ///< seq of the record in that line; if the line is not a record, the seq expected next
  std::string problem;
  friend bool operator==(const Break&, const Break&) = default;
};

struct FileReport {
  std::string file;
  std::uint64_t first_seq = 0;  ///< 0 if the file has no record
  std::uint64_t last_seq = 0;
  std::uint64_t records = 0;
};

/// Result of checking the signed heads in the chain.
struct SignatureReport {
  std::uint64_t good = 0;                ///< number of heads with a valid signature
  std::uint64_t unknown_key = 0;         ///< number of heads signed with a key that was not given
  std::uint64_t unknown_after_good = 0;  ///< number of unknown_key heads after the newest valid head
  Head proven;  ///< newest head with a valid signature; the chain up to here was written by the operator
};

/// Requirements on a chain in addition to being unbroken.
struct VerifyOptions {
  std::optional<Head> anchor{};  ///< head noted earlier that the chain must contain
  bool from_first = false;       ///< the chain must begin with record 1
  /// Keys that must verify the newest signed head; empty = signatures are not checked.
  std::vector<crypto::KeyRing> keys{};
};

struct VerifyReport {
  std::vector<FileReport> files;  ///< in chain order, up to the break
  std::uint64_t records = 0;
  std::uint64_t first_seq = 0;
  Head head;
  std::optional<Break> broken;  ///< first broken link
  std::optional<Break> torn;  ///< incomplete end that no record vouches for yet, because of a crash or a truncated file
  bool anchor_missing = false;  ///< the chain does not contain `anchor`
  bool first_missing = false;   ///< `from_first` is set and the chain does not contain record 1
  bool unsigned_chain = false;  ///< keys were given, but none of them signed a head in the chain
  /// Keys were given and signed some heads, but the records after the newest such head exceed what the operator leaves
  /// unsigned (1,000 records, five minutes) or contain heads signed with other keys. A chain whose end was rewritten
  /// looks like that.
  bool unsigned_end = false;
  SignatureReport signatures;

  bool intact() const {
    return !broken && !torn && !anchor_missing && !first_missing && !unsigned_chain && !unsigned_end;
  }
};

/// Checks the chain through all files, given in any order. Returns an error only if a file cannot be read.
base::Result<VerifyReport> verify(const std::vector<std::string>& files, const VerifyOptions& options = {});

}  // namespace audit
