#pragma once

#include <vector>

#include "strategies/load/load_table.hpp"

namespace strategies {

/// Of what a move is good for: while the load is as it is now. The rest is by what is usual, and lasts.
inline constexpr double kPartOfNow = 0.25;

/// What nodes and pods use usually.
struct UsualLoad {
  LoadTable load;
  std::vector<double> level;  ///< down to which nodes are relieved, in percent by LoadTable::resources()
};

}  // namespace strategies
