#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "advisor/placement/report.hpp"

namespace cmd::advise {

/// A row of the risk table: one finding, or several findings with the same cause and namespace.
struct RiskRow {
  std::string cause;
  std::string
      what;  ///< "Deployment shop/web" or "shop: 12 workloads (api, cart, web and 9 more)", without control characters
  std::int32_t pods = 0;
  std::string why;
  std::string change;
  std::size_t findings = 1;
  friend bool operator==(const RiskRow&, const RiskRow&) = default;
};

/// A cause with more than kMaxSingleRisks findings is grouped by namespace, largest number of workloads first.
/// Namespaces beyond the maximum share one row.
inline constexpr std::size_t kMaxSingleRisks = 5;
inline constexpr std::size_t kMaxRiskNamespaces = 8;

/// Returns rows for the findings whose effect is not computed, in the order of the report's causes.
std::vector<RiskRow> risk_rows(const std::vector<advisor::Finding>& findings);

/// Returns "Deployment shop/web", or "(all of them)" for a finding about a whole cause.
std::string subject_of(const advisor::Finding& finding);

}  // namespace cmd::advise
