#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace strategies {

/// Fewest pods that must leave some nodes so that these hold `total` pods in the end: a convex function of `total`,
/// stored as its pieces. A pod beyond a bound costs kViolation, more than all moves together, so that the minimum
/// breaks bounds as little as possible and then moves as few pods as possible. Adding two functions and bounding one
/// take a fixed number of steps.
class SpreadCost {
 public:
  static constexpr std::size_t kMaxBounds = 4;  ///< bounds that may be nested
  static constexpr std::int64_t kViolation = std::int64_t{1} << 24;
  static constexpr std::int64_t kImpossible = std::numeric_limits<std::int64_t>::max() / 64;

  /// Nothing holds nothing, at no cost.
  SpreadCost() = default;
  /// One node with `pods` of which `movable` may leave, and with capacity for `room` more.
  static SpreadCost of_node(std::int64_t pods, std::int64_t movable, std::int64_t room);

  /// The function of this set of nodes when it should hold at least `least` and at most `most`. REQUIRES: least <=
  /// most; at most kMaxBounds calls are nested.
  SpreadCost bounded(std::int64_t least, std::int64_t most) const;
  /// kImpossible: the nodes cannot hold that many, or so few.
  std::int64_t at(std::int64_t total) const;

  /// Both sets of nodes together.
  SpreadCost& operator+=(const SpreadCost& other);
  SpreadCost& operator-=(const SpreadCost& other);
  friend bool operator==(const SpreadCost&, const SpreadCost&) = default;

 private:
  static constexpr std::size_t kSlopes = 2 * (2 * kMaxBounds + 1);
  static constexpr std::size_t kFree = 2 * kMaxBounds + 1;  ///< the slope of pods that cost nothing

  static std::int64_t slope(std::size_t index);

  std::int64_t least_ = 0;                     ///< the smallest total that is possible
  std::int64_t cost_ = 0;                      ///< there
  std::array<std::int64_t, kSlopes> width_{};  ///< from there on, by slope in ascending order
};

}  // namespace strategies
