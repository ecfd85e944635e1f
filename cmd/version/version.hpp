#pragma once

#include <string>
#include <string_view>

namespace cmd {

/// The git commit that this was built from: 40 hex digits, with "-dirty" behind them when tracked files differed from
/// it; "unknown" when it was built outside of a git checkout. One generated source has it (cmd/CMakeLists.txt), so that
/// a new commit compiles nothing else again.
const char* build_commit();

/// "PROGRAM 0.1.0 (commit …)", without an end of line.
std::string version_of(std::string_view program);

}  // namespace cmd
