#pragma once

/// load-watcher's GET /watcher, as its servers really write it. Pure; survives any input.

#include <string>

#include "base/result.hpp"
#include "usage/parse/rows.hpp"

namespace usage {

/// cpu and memory in percent of the node's capacity.
inline constexpr std::size_t kLoadWatcherWidth = 2;

/// Adds a row for each node of the answer, the port cut off its name. Only CPU and Memory are read: the others are no
/// percentages. The operator AVG wins, else Latest or an empty one; STD is no load. Every row's time is the window's
/// end, or the answer's timestamp without one: the server keeps serving old figures without a word. The figures are
/// means over the window.
base::Status read_load_watcher(std::string& answer, Rows& rows);

}  // namespace usage
