#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace strategies {

/// Minimum number of pods that must leave a set of nodes so that it finally holds `total` pods: a convex, piecewise
/// linear function of `total`. A pod beyond a bound costs kViolation, more than all moves together, so that the minimum
/// violates bounds as little as possible and then moves as few pods as possible. Adding two functions and bounding one
/// take constant time.
class SpreadCost {
 public:
  static constexpr std::size_t kMaxBounds = 4;  ///< maximum nesting of bounds
  static constexpr std::int64_t kViolation = std::int64_t{1} << 24;
  static constexpr std::int64_t kImpossible = std::numeric_limits<std::int64_t>::max() / 64;

  /// An empty set of nodes, which holds 0 pods at no cost.
  SpreadCost() = default;
  /// One node with `pods`, of which `movable` may leave, and with capacity for `room` further pods.
  static SpreadCost of_node(std::int64_t pods, std::int64_t movable, std::int64_t room);

  /// Returns the function of the same nodes when they should hold at least `least` and at most `most` pods. REQUIRES:
  /// least <= most; at most kMaxBounds nested calls.
  SpreadCost bounded(std::int64_t least, std::int64_t most) const;
  /// Returns the cost of `total` pods, or kImpossible if the nodes cannot hold that number.
  std::int64_t at(std::int64_t total) const;

  /// Combines two disjoint sets of nodes.
  SpreadCost& operator+=(const SpreadCost& other);
  SpreadCost& operator-=(const SpreadCost& other);
  friend bool operator==(const SpreadCost&, const SpreadCost&) = default;

 private:
  static constexpr std::size_t kSlopes = 2 * (2 * kMaxBounds + 1);
  static constexpr std::size_t kFree = 2 * kMaxBounds + 1;  ///< slope of pods that cost nothing

  static std::int64_t slope(std::size_t index);

  std::int64_t least_ = 0;                     ///< minimum possible total
  std::int64_t cost_ = 0;                      ///< cost at least_
  std::array<std::int64_t, kSlopes> width_{};  ///< widths of the pieces from least_ on, by ascending slope
};

}  // namespace strategies
