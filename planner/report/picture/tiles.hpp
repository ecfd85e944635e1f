#pragma once

#include <span>
#include <vector>

#include "planner/report/report.hpp"

namespace report {

/// What the plan does with a pod, as shown in pictures.
enum class TileKind {
  kStays,
  kWithNode,
  kLeaving,
  kEmpties,  ///< leaves a node that is freed
  kRoom,     ///< moves to free capacity or to even out load
  kHolds,    ///< holds its node
};
inline constexpr std::size_t kTileKinds = 6;

/// Returns the kind of each of Report::pods.
std::vector<TileKind> tile_kinds(const Report& report);

/// Returns for each node whether a pod that was on it from the start holds it. False for nodes that arriving pods will
/// hold.
std::vector<bool> held_open(const Report& report);

/// A rectangle in a box, in fractions of the box's width and height. y counts from the bottom.
struct Rect {
  double x = 0;
  double y = 0;
  double w = 0;
  double h = 0;
};

/// Lays out tiles in rows from the bottom up, as close to squares as possible. The area of each tile is its share of
/// the box. Shares that exceed the box in total are scaled down. `aspect` is the width of the box divided by its
/// height.
std::vector<Rect> layout_treemap(std::span<const double> shares, double aspect);

struct Tile {
  std::size_t pod = 0;  ///< index in Report::pods
  Rect place;
};

/// Returns the pods of each node as tiles, before or after the plan, indexed by node. DaemonSet pods are at the bottom
/// and moving pods on top, so that all other pods have the same position in both pictures.
std::vector<std::vector<Tile>> tiles_of(const Report& report, Resource resource, bool is_after, double aspect);

/// Share of the node's allocatable; 0 if the node has none.
double share_of(const ReportPod& pod, const ReportNode& node, Resource resource);
double share_of(const ReportNode& node, Resource resource, bool is_after);

}  // namespace report
