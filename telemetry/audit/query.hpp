#pragma once

#include <optional>
#include <string>
#include <vector>

#include "telemetry/audit/record.hpp"

namespace audit {

/// Search criteria. Empty fields match everything; all others must match.
struct Filter {
  std::string ns{};      ///< namespace of the object
  std::string pod{};     ///< the object is this pod, or detail.pod names it
  std::string policy{};  ///< name of the policy
  std::string action{};
  std::string decision{};
  std::string reason{};
  std::string actor{};                     ///< full actor, or the part after "evacuator/"
  std::optional<base::TimePoint> since{};  ///< inclusive
  std::optional<base::TimePoint> until{};  ///< exclusive
};
/// action, decision and reason are compared case-insensitively.
bool matches(const Filter& filter, const Record& record);

struct QueryResult {
  std::vector<ParsedLine> lines;  ///< in chain order
  std::uint64_t unreadable = 0;   ///< number of lines that are not records
};
/// Reads the files in the given order; does not check the chain (verify() does). `newest` > 0 returns only that number
/// of newest matches.
base::Result<QueryResult> query(const std::vector<std::string>& files, const Filter& filter, std::size_t newest = 0);

}  // namespace audit
