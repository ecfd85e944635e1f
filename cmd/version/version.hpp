#pragma once

#include <string>
#include <string_view>

namespace cmd {

/// Returns the git commit of this build: 40 hex digits, with suffix "-dirty" if tracked files were modified, or
/// "unknown" outside of a git checkout. It is in one generated source file (cmd/CMakeLists.txt), so a new commit
/// recompiles only that file.
const char* build_commit();

/// Returns "PROGRAM 0.1.0 (commit …)" without a newline.
std::string version_of(std::string_view program);

}  // namespace cmd
