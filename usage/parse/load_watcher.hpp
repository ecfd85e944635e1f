#pragma once

/// Reads load-watcher's GET /watcher in the form that its servers actually send. Pure; tolerates any input.

#include <string>

#include "base/result.hpp"
#include "usage/parse/rows.hpp"

namespace usage {

/// cpu and memory in percent of the node's capacity.
inline constexpr std::size_t kLoadWatcherWidth = 2;

/// Adds a row for each node of the answer, without the port in its name. Reads only CPU and Memory, because other
/// metrics are not percentages. Prefers the operator AVG, else Latest or an empty one; STD is not a load. Every row's
/// time is the window's end, or the answer's timestamp without a window, because the server may silently keep serving
/// old figures. The figures are means over the window.
base::Status read_load_watcher(std::string& answer, Rows& rows);

}  // namespace usage
