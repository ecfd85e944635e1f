#pragma once

/// spec.convergence and status.balance of a DeschedulerPolicy: whether balancing makes progress
/// (docs/concepts/convergence.md).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "api/json/strict_object.hpp"

namespace api {

struct ConvergenceSettings {
  /// Number of consecutive futile cycles after which a strategy stops: 0 … 100, 0 = never. A cycle without gain is
  /// futile only if the next plan relieves the same nodes again or reverts moves
  /// (planner/plan/balance/convergence.hpp).
  std::int32_t patience = 5;
  /// Minimum score of moves of balance strategies, 0 … 100; other moves are dropped from the plan.
  double min_score = 0;
  friend bool operator==(const ConvergenceSettings&, const ConvergenceSettings&) = default;
};

/// Imbalance of nodes in one resource, in percent of allocatable; or of pod counts, in percent of the mean count per
/// domain.
struct Imbalance {
  double deviation = 0;     ///< standard deviation
  double peak_to_mean = 0;  ///< maximum divided by mean; 0 if nothing is used, or nothing exceeds its share
  friend bool operator==(const Imbalance&, const Imbalance&) = default;
};

/// One row of status.balance: a balance strategy and one of its resources, or what it counts.
struct BalanceRow {
  std::string strategy;
  std::string resource;
  Imbalance before;
  Imbalance after;                ///< as planned
  std::string state;              ///< Improving, Converged, Oscillating or NoProgress
  std::int32_t without_gain = 0;  ///< futile cycles since the last gain
  double best = 0;                ///< lowest deviation since the spec changed
  friend bool operator==(const BalanceRow&, const BalanceRow&) = default;
};
inline constexpr std::size_t kMaxBalanceRows = 64;

void read_convergence(StrictObject& object, ConvergenceSettings& settings);
void validate_convergence(const ConvergenceSettings& settings, const FieldPath& at, FieldErrors& errors);
Json encode_convergence(const ConvergenceSettings& settings);

}  // namespace api
