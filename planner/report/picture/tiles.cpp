#include "planner/report/picture/tiles.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>

namespace report {
namespace {

/// Area of a tile without a share of its own, so that it stays visible.
constexpr double kMinShare = 0.003;

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

std::vector<double> areas_of(std::span<const double> shares) {
  std::vector<double> areas;
  areas.reserve(shares.size());
  for (const double share : shares) areas.push_back(std::max(std::isfinite(share) ? share : 0, kMinShare));
  const double sum = std::accumulate(areas.begin(), areas.end(), 0.0);
  if (sum > 1) {
    for (double& area : areas) area /= sum;
  }
  return areas;
}

/// Average deviation of a row's tiles from squares; 1 if all are squares. The height of a row equals its `sum`.
double aspect_deviation(std::span<const double> row, double sum, double aspect) {
  double total = 0;
  for (const double area : row) {
    const double ratio = area / sum / sum * aspect;
    total += std::max(ratio, 1 / ratio);
  }
  return total / static_cast<double>(row.size());
}

/// Returns the number of leading areas that form the best row.
std::size_t row_size(std::span<const double> areas, double aspect) {
  double sum = areas[0];
  double best = aspect_deviation(areas.first(1), sum, aspect);
  std::size_t size = 1;
  while (size < areas.size()) {
    const double next = aspect_deviation(areas.first(size + 1), sum + areas[size], aspect);
    if (next > best) break;
    best = next;
    sum += areas[size++];
  }
  return size;
}

/// Does not stretch the last row over the whole width if that would turn its tiles into slivers.
double row_height(double sum, std::size_t size, bool is_last, double below, double room, double aspect) {
  if (!is_last) return std::min(sum, room);
  const double square = std::sqrt(sum / static_cast<double>(size) * aspect);
  return std::min(std::max(sum, below > 0 ? std::min(below, square) : square), room);
}

}  // namespace

std::vector<Rect> layout_treemap(std::span<const double> shares, double aspect) {
  const std::vector<double> areas = areas_of(shares);
  std::vector<Rect> rects;
  rects.reserve(areas.size());
  double y = 0, below = 0;
  for (std::span<const double> left = areas; !left.empty();) {
    const std::size_t size = row_size(left, aspect);
    const double sum = std::accumulate(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(size), 0.0);
    const double height = row_height(sum, size, size == left.size(), below, 1 - y, aspect);
    double x = 0;
    for (const double area : left.first(size)) {
      const double width = height > 0 ? area / height : 0;
      rects.push_back({x, y, width, height});
      x += width;
    }
    y += height;
    below = height;
    left = left.subspan(size);
  }
  return rects;
}

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
