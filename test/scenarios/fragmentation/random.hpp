#pragma once

/// Random numbers that are equal with every compiler.

#include <array>
#include <cstddef>
#include <cstdint>

#include "planner/strategies/search_budget.hpp"

namespace fragmentation {

class Random : public strategies::Rng {
 public:
  using Rng::Rng;
  /// Returns 0 … end-1.
  int below(int end) { return static_cast<int>(next() % static_cast<std::uint64_t>(end)); }
  double between(double from, double to) { return from + (to - from) * fraction(); }
  bool chance(double of_one) { return fraction() < of_one; }
  template <typename T, std::size_t N>
  T pick(const std::array<T, N>& choices) {
    return choices[static_cast<std::size_t>(below(static_cast<int>(N)))];
  }
};

}  // namespace fragmentation
