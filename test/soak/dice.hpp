#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace soak {

/// The only source of randomness of a run. std::mt19937_64 is specified exactly and no std distribution is used, so a
/// seed gives the same run on every platform.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  /// Returns 0 … n-1. REQUIRES: n > 0.
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least + 1)));
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <typename T>
  const T& of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace soak
