#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/meta/condition.hpp"
#include "controllers/usage/collector.hpp"
#include "scheduling/snapshot/cluster_snapshot.hpp"

namespace controllers {

/// How much of what a source should say is usable, over the nodes that a policy looks at.
struct UsageReport {
  std::string source;
  std::string problem;  ///< why nothing of it is; empty: something is
  std::int32_t nodes = 0;
  std::int32_t unknown = 0;           ///< nodes without a good sample
  std::vector<std::string> examples;  ///< the first of them by name, with why: "node-3: its newest sample is 7m old"
  std::int32_t max_unknown_percent = 0;

  bool has_enough() const { return std::int64_t{unknown} * 100 <= std::int64_t{max_unknown_percent} * nodes; }
  friend bool operator==(const UsageReport&, const UsageReport&) = default;
};

/// REQUIRES: `measured` is one that the collector made.
UsageReport usage_report(const scheduling::MeasuredUsage& measured, const scheduling::ClusterSnapshot& cluster,
                         const std::optional<api::LabelSelector>& node_selector);

/// Condition UsageAvailable: False names the first source that fails or has too few samples, with examples. A policy
/// without sources does not have it.
void tell_usage(std::vector<api::Condition>& conditions, const std::vector<UsageReport>& reports,
                std::int64_t generation, base::TimePoint now);

/// Condition ForecastTrusted: whether forecasts are used, with their error as a share of the naive ones'. A policy
/// without forecasts does not have it.
void tell_forecasts(std::vector<api::Condition>& conditions, const std::vector<ForecastReport>& reports,
                    std::int64_t generation, base::TimePoint now);

}  // namespace controllers
