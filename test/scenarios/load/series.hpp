#pragma once

#include <cstdint>
#include <vector>

#include "usage/samples.hpp"

namespace load {

/// Series in percent of a node, in steps of five minutes from a Monday on. Each generator is another kind of world; the
/// forecast was made for the first.
std::vector<usage::Series> node_series(int nodes, int days, std::uint64_t seed);  ///< Model's, placed by requests
std::vector<usage::Series> steps(int count, int days, std::uint64_t seed);        ///< levels that jump, with noise
std::vector<usage::Series> random_walks(int count, int days, std::uint64_t seed);
std::vector<usage::Series> repeating(int count, int days, std::uint64_t seed);   ///< each day as the one before
std::vector<usage::Series> pure_noise(int count, int days, std::uint64_t seed);  ///< about a level of its own

}  // namespace load
