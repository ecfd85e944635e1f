#pragma once

#include <cstddef>
#include <string>

#include "planner/report/report.hpp"

namespace reporting {

/// What the terminal shows.
struct BlockStyle {
  std::size_t columns = 80;
  bool has_unicode = true;
  bool has_colour = false;
};

/// Nodes that are drawn one by one; larger clusters are drawn as groups of nodes that look alike.
inline constexpr std::size_t kMaxBlockRows = 40;

/// The cluster before and after as bars, a line for a node or a group of nodes, no line longer than `columns`; with the
/// resource that is scarcer. Below 60 columns lines may be cut.
std::string block_picture(const Report& report, const BlockStyle& style);

}  // namespace reporting
