#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "advisor/placement/report.hpp"

namespace cmd::advise {

/// A line of the table of risks: one finding, or several of one cause and namespace together.
struct RiskRow {
  std::string cause;
  std::string what;  ///< "Deployment shop/web", "shop: 12 workloads (api, cart, web and 9 more)"; names are plain
  std::int32_t pods = 0;
  std::string why;
  std::string change;
  std::size_t findings = 1;
  friend bool operator==(const RiskRow&, const RiskRow&) = default;
};

/// A cause that is found more often than this is told by namespace, those with most workloads first, and the last
/// namespaces together.
inline constexpr std::size_t kMaxSingleRisks = 5;
inline constexpr std::size_t kMaxRiskNamespaces = 8;

/// The findings without an effect to work out, in the order of the report's causes.
std::vector<RiskRow> risk_rows(const std::vector<advising::Finding>& findings);

/// "Deployment shop/web"; "(all of them)" for a cause as a whole.
std::string subject_of(const advising::Finding& finding);

}  // namespace cmd::advise
