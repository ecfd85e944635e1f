# Writes OUTPUT, a source that says which commit of SOURCE_DIR this is, and only if it says something else so far.
# Runs at each build (cmd/CMakeLists.txt). COMMIT, when it is set, is taken at its word: for sources without git.
if(NOT COMMIT)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env GIT_OPTIONAL_LOCKS=0 git describe --always --dirty --abbrev=40 --exclude=*
    WORKING_DIRECTORY "${SOURCE_DIR}" OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT COMMIT MATCHES "^[0-9a-z-]+$")
  set(COMMIT "unknown")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT [[
#include "cmd/version/version.hpp"

namespace cmd {

const char* build_commit() { return "@COMMIT@"; }

}  // namespace cmd
]] @ONLY)
