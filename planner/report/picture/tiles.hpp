#pragma once

#include <vector>

#include "planner/report/picture/treemap.hpp"
#include "planner/report/report.hpp"

namespace reporting {

/// What the plan does with a pod, as pictures show it.
enum class TileKind {
  kStays,
  kWithNode,
  kLeaving,
  kEmpties,  ///< it leaves a node that is freed
  kRoom,     ///< it makes room, or evens out
  kHolds,    ///< its node is held by it
};
inline constexpr std::size_t kTileKinds = 6;

/// One for each of Report::pods.
std::vector<TileKind> tile_kinds(const Report& report);

/// By node: a pod that was on it from the start holds it. False for nodes that pods which arrive will hold.
std::vector<bool> held_open(const Report& report);

struct Tile {
  std::size_t pod = 0;  ///< of Report::pods
  Rect place;
};

/// The pods of each node as tiles, by node: before the plan, or after it. DaemonSet pods are at the bottom and pods
/// that move on top, so that the others are in one place in both.
std::vector<std::vector<Tile>> tiles_of(const Report& report, Resource resource, bool is_after, double aspect);

/// Of what the node offers; 0 when it offers nothing.
double share_of(const ReportPod& pod, const ReportNode& node, Resource resource);
double share_of(const ReportNode& node, Resource resource, bool is_after);

}  // namespace reporting
