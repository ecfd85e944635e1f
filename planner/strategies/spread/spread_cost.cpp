#include "planner/strategies/spread/spread_cost.hpp"

#include <algorithm>

namespace strategies {

/// Even indexes: each pod that stays saves a move. Each pair of indexes has one violation more than the pair before.
std::int64_t SpreadCost::slope(std::size_t index) {
  const auto violations = static_cast<std::int64_t>(index / 2) - static_cast<std::int64_t>(kMaxBounds);
  return violations * kViolation - (index % 2 == 0 ? 1 : 0);
}

SpreadCost SpreadCost::of_node(std::int64_t pods, std::int64_t movable, std::int64_t room) {
  SpreadCost cost;
  cost.least_ = pods - movable;
  cost.cost_ = movable;
  cost.width_[kFree - 1] = movable;
  cost.width_[kFree] = room;
  return cost;
}

SpreadCost SpreadCost::bounded(std::int64_t least, std::int64_t most) const {
  SpreadCost result;
  result.least_ = least_;
  result.cost_ =
      cost_ + kViolation * (std::max<std::int64_t>(least - least_, 0) + std::max<std::int64_t>(least_ - most, 0));
  std::int64_t at = least_;
  for (std::size_t i = 0; i < kSlopes; ++i) {
    const std::int64_t width = width_[i];
    if (width == 0) continue;
    const std::int64_t below = std::clamp<std::int64_t>(least - at, 0, width);
    const std::int64_t above = std::clamp<std::int64_t>(at + width - most, 0, width);
    if (below > 0) result.width_[i - 2] += below;
    if (above > 0) result.width_[i + 2] += above;
    result.width_[i] += width - below - above;
    at += width;
  }
  return result;
}

std::int64_t SpreadCost::at(std::int64_t total) const {
  std::int64_t left = total - least_;
  if (left < 0) return kImpossible;
  std::int64_t cost = cost_;
  for (std::size_t i = 0; i < kSlopes && left > 0; ++i) {
    const std::int64_t taken = std::min(left, width_[i]);
    cost += taken * slope(i);
    left -= taken;
  }
  return left > 0 ? kImpossible : cost;
}

SpreadCost& SpreadCost::operator+=(const SpreadCost& other) {
  least_ += other.least_;
  cost_ += other.cost_;
  for (std::size_t i = 0; i < kSlopes; ++i) width_[i] += other.width_[i];
  return *this;
}

SpreadCost& SpreadCost::operator-=(const SpreadCost& other) {
  least_ -= other.least_;
  cost_ -= other.cost_;
  for (std::size_t i = 0; i < kSlopes; ++i) width_[i] -= other.width_[i];
  return *this;
}

}  // namespace strategies
