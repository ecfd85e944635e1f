#include "planner/report/picture/treemap.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace report {
namespace {

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

}  // namespace report
