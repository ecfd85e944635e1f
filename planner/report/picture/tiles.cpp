#include "planner/report/picture/tiles.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

namespace report {
namespace {

double part(std::int64_t amount, std::int64_t all) {
  return all > 0 ? static_cast<double>(std::max<std::int64_t>(amount, 0)) / static_cast<double>(all) : 0;
}

struct Places {
  std::vector<NodeIndex> node;
  std::vector<bool> moves;
};

Places places_of(const Report& report, bool is_after) {
  Places places;
  for (const ReportPod& pod : report.pods) {
    const bool is_gone = is_after && pod.role == PodRole::kLeaving && !report.moves.empty();
    places.node.push_back(is_gone ? kNoNode : pod.node);
  }
  places.moves.resize(report.pods.size());
  for (const ReportMove& move : report.moves) {
    places.moves[move.pod] = true;
    if (is_after) places.node[move.pod] = move.to;
  }
  return places;
}

std::vector<Tile> lay(std::vector<std::tuple<int, double, std::size_t>> pods, double aspect) {
  std::ranges::sort(pods);
  std::vector<double> shares;
  for (const auto& [rank, negative_share, pod] : pods) shares.push_back(-negative_share);
  const std::vector<Rect> rects = layout_treemap(shares, aspect);
  std::vector<Tile> tiles;
  for (std::size_t i = 0; i < pods.size(); ++i) tiles.push_back({std::get<2>(pods[i]), rects[i]});
  return tiles;
}

}  // namespace

double share_of(const ReportPod& pod, const ReportNode& node, Resource resource) {
  const std::int64_t all = node.amounts[static_cast<std::size_t>(resource)].allocatable;
  switch (resource) {
    case Resource::kCpu: return part(pod.cpu, all);
    case Resource::kMemory: return part(pod.memory, all);
    case Resource::kPods: return part(1, all);
  }
  return 0;
}

double share_of(const ReportNode& node, Resource resource, bool is_after) {
  const Amount& amount = node.amounts[static_cast<std::size_t>(resource)];
  return part(is_after ? amount.after : amount.before, amount.allocatable);
}

std::vector<bool> held_open(const Report& report) {
  std::vector<bool> nodes(report.nodes.size());
  const std::vector<TileKind> kinds = tile_kinds(report);
  for (std::size_t pod = 0; pod < kinds.size(); ++pod) {
    if (kinds[pod] == TileKind::kHolds) nodes[report.pods[pod].node] = true;
  }
  return nodes;
}

std::vector<TileKind> tile_kinds(const Report& report) {
  std::set<std::string_view> holders;
  for (const ReportHold& hold : report.held) holders.insert(hold.pod);
  std::vector<TileKind> kinds;
  kinds.reserve(report.pods.size());
  for (const ReportPod& pod : report.pods) {
    TileKind kind = TileKind::kStays;
    if (!holders.empty() && holders.contains(pod.ns + "/" + pod.name)) kind = TileKind::kHolds;
    if (pod.role == PodRole::kGoesWithNode) kind = TileKind::kWithNode;
    if (pod.role == PodRole::kLeaving) kind = TileKind::kLeaving;
    kinds.push_back(kind);
  }
  for (const ReportMove& move : report.moves)
    kinds[move.pod] = move.empties_node ? TileKind::kEmpties : TileKind::kRoom;
  return kinds;
}

std::vector<std::vector<Tile>> tiles_of(const Report& report, Resource resource, bool is_after, double aspect) {
  const Places places = places_of(report, is_after);
  std::vector<std::vector<std::tuple<int, double, std::size_t>>> pods(report.nodes.size());
  for (std::size_t i = 0; i < report.pods.size(); ++i) {
    const NodeIndex node = places.node[i];
    if (node == kNoNode) continue;
    const int rank = places.moves[i] ? 2 : report.pods[i].role == PodRole::kGoesWithNode ? 0 : 1;
    pods[node].emplace_back(rank, -share_of(report.pods[i], report.nodes[node], resource), i);
  }
  std::vector<std::vector<Tile>> tiles;
  tiles.reserve(pods.size());
  for (auto& each : pods) tiles.push_back(lay(std::move(each), aspect));
  return tiles;
}

}  // namespace report
