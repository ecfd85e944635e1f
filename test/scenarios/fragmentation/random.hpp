#pragma once

/// Chances that are the same with every compiler.

#include <array>
#include <cstddef>
#include <cstdint>

namespace fragmentation {

/// SplitMix64: the same numbers with every compiler.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Below `end`.
  int below(int end) { return static_cast<int>(next() % static_cast<std::uint64_t>(end)); }
  /// From 0 up to 1, which it never is.
  double fraction() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }
  double between(double from, double to) { return from + (to - from) * fraction(); }
  bool chance(double of_one) { return static_cast<double>(next() >> 11) < of_one * 9007199254740992.0; }
  template <typename T, std::size_t N>
  T pick(const std::array<T, N>& choices) {
    return choices[static_cast<std::size_t>(below(static_cast<int>(N)))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace fragmentation
