#pragma once

#include <span>
#include <vector>

namespace report {

/// A rectangle in a box, in fractions of the box's width and height. y counts from the bottom.
struct Rect {
  double x = 0;
  double y = 0;
  double w = 0;
  double h = 0;
};

/// Area of a tile without a share of its own, so that it stays visible.
inline constexpr double kMinShare = 0.003;

/// Lays out tiles in rows from the bottom up, as close to squares as possible. The area of each tile is its share of
/// the box. Shares that exceed the box in total are scaled down. `aspect` is the width of the box divided by its
/// height.
std::vector<Rect> layout_treemap(std::span<const double> shares, double aspect);

}  // namespace report
