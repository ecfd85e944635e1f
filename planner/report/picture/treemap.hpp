#pragma once

#include <span>
#include <vector>

namespace reporting {

/// A rectangle in a box, in parts of its width and height; y counts from the bottom.
struct Rect {
  double x = 0;
  double y = 0;
  double w = 0;
  double h = 0;
};

/// What a tile without a share of its own still gets, so that it can be seen.
inline constexpr double kMinShare = 0.003;

/// Tiles in a box, in rows from the bottom up and near to squares, each with its share of the box as area. Shares that
/// exceed the box together are scaled down to it. `aspect`: width of the box over its height.
std::vector<Rect> layout_treemap(std::span<const double> shares, double aspect);

}  // namespace reporting
