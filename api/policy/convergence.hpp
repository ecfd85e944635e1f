#pragma once

/// spec.convergence and status.balance of a DeschedulerPolicy: does balancing help (docs/concepts/convergence.md)?

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "api/json/strict_object.hpp"

namespace api {

/// When balance strategies stop.
struct ConvergenceSettings {
  /// Cycles in vain, without a gain between them, after which a strategy stops; 0: never. 0 … 100. A cycle without gain
  /// is in vain only if the next plan relieves the same nodes again or takes moves back
  /// (planner/plan/balance/convergence.hpp).
  std::int32_t patience = 5;
  double min_score = 0;  ///< moves of balance strategies that score less stay out of the plan: 0 … 100
  friend bool operator==(const ConvergenceSettings&, const ConvergenceSettings&) = default;
};

/// How uneven nodes are in one resource, in percent of allocatable; or how uneven pods are by count, in percent of the
/// mean of what they are counted in.
struct Imbalance {
  double deviation = 0;     ///< standard deviation
  double peak_to_mean = 0;  ///< highest over mean; 0: nothing is used, or nothing is above what it may hold
  friend bool operator==(const Imbalance&, const Imbalance&) = default;
};

/// One row of status.balance: a balance strategy and a resource of it, or what it counts.
struct BalanceRow {
  std::string strategy;
  std::string resource;
  Imbalance before;
  Imbalance after;                ///< as planned
  std::string state;              ///< Improving, Converged, Oscillating or NoProgress
  std::int32_t without_gain = 0;  ///< cycles in vain since the last one that gained
  double best = 0;                ///< lowest deviation since the spec changed
  friend bool operator==(const BalanceRow&, const BalanceRow&) = default;
};
inline constexpr std::size_t kMaxBalanceRows = 64;

void read_convergence(StrictObject& object, ConvergenceSettings& settings);
void validate_convergence(const ConvergenceSettings& settings, const FieldPath& at, FieldErrors& errors);
Json encode_convergence(const ConvergenceSettings& settings);
/// status.balance; wrong rows are left out.
std::vector<BalanceRow> balance_rows_of(const Json& status);
void put_balance_rows(Json& status, const std::vector<BalanceRow>& rows);

}  // namespace api
