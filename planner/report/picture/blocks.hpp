#pragma once

#include <cstddef>
#include <string>

#include "planner/report/report.hpp"

namespace report {

/// Capabilities of the terminal.
struct BlockStyle {
  std::size_t columns = 80;
  bool has_unicode = true;
  bool has_colour = false;
};

/// Maximum number of nodes drawn one by one. Larger clusters are drawn as groups of nodes that look alike.
inline constexpr std::size_t kMaxBlockRows = 40;

/// Draws the cluster before and after the plan as bars, with one line per node or group of nodes, for the scarcer
/// resource. No line is longer than `columns`. Below 60 columns lines may be cut.
std::string block_picture(const Report& report, const BlockStyle& style);

}  // namespace report
