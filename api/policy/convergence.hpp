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
  std::int32_t patience = 5;  ///< cycles with moves in a row that did not lessen the imbalance; 0: never stops. 0 … 100
  double min_score = 0;       ///< moves of balance strategies that score less stay out of the plan: 0 … 100
  friend bool operator==(const ConvergenceSettings&, const ConvergenceSettings&) = default;
};

/// How uneven nodes are in one resource, in percent of allocatable.
struct Imbalance {
  double deviation = 0;     ///< standard deviation
  double peak_to_mean = 0;  ///< highest over mean; 0: nothing is used
  friend bool operator==(const Imbalance&, const Imbalance&) = default;
};

/// One row of status.balance: a balance strategy and a resource of it.
struct BalanceRow {
  std::string strategy;
  std::string resource;
  Imbalance before;
  Imbalance after;                ///< as planned
  std::string state;              ///< Improving, Converged, Oscillating or NoProgress
  std::int32_t without_gain = 0;  ///< cycles in a row
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
