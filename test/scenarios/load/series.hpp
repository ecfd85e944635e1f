#pragma once

#include <cstdint>
#include <vector>

#include "usage/samples.hpp"

namespace load {

/// Series in percent of a node, in steps of five minutes starting on a Monday. Each generator is a different kind of
/// load. The forecast was designed for the first one.
/// loads of Model's nodes, placed by requests
std::vector<usage::Series> node_series(int nodes, int days, std::uint64_t seed);
std::vector<usage::Series> steps(int count, int days, std::uint64_t seed);  ///< levels that jump, with noise
std::vector<usage::Series> random_walks(int count, int days, std::uint64_t seed);
std::vector<usage::Series> repeating(int count, int days, std::uint64_t seed);   ///< every day is equal
std::vector<usage::Series> pure_noise(int count, int days, std::uint64_t seed);  ///< around a constant level

}  // namespace load
