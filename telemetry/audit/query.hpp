#pragma once

#include <optional>
#include <string>
#include <vector>

#include "telemetry/audit/record.hpp"

namespace audit {

/// What is looked for: empty fields match everything, the others all have to.
struct Filter {
  std::string ns{};      ///< object's namespace
  std::string pod{};     ///< the object is this pod, or the record is about it (detail.pod)
  std::string policy{};  ///< name
  std::string action{};
  std::string decision{};
  std::string reason{};
  std::string actor{};                     ///< whole, or what follows "evacuator/"
  std::optional<base::TimePoint> since{};  ///< inclusive
  std::optional<base::TimePoint> until{};  ///< exclusive
};
/// Words compare without regard to case: action, decision, reason.
bool matches(const Filter& filter, const Record& record);

struct QueryResult {
  std::vector<ParsedLine> lines;  ///< in the order of the chain
  std::uint64_t unreadable = 0;   ///< lines that are no records
};
/// Reads the files in their order; does not check the chain (verify() does). `newest` > 0: only the last so many.
base::Result<QueryResult> query(const std::vector<std::string>& files, const Filter& filter, std::size_t newest = 0);

}  // namespace audit
