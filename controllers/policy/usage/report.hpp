#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "api/meta/condition.hpp"
#include "controllers/policy/usage/collector.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace controllers {

/// Usable part of a source's figures, over the nodes in scope of a policy.
struct UsageReport {
  /// Resource missing on nodes that have a good sample.
  struct Gap {
    std::string resource;
    std::int32_t unknown = 0;           ///< number of nodes without a good figure of it, including nodes without any
    std::vector<std::string> examples;  ///< first nodes, by name, that lack only this resource
    friend bool operator==(const Gap&, const Gap&) = default;
  };

  std::string source;
  bool has_answered = true;  ///< at least once
  std::int32_t nodes = 0;
  std::int32_t unknown = 0;  ///< number of nodes without a good sample
  /// First of them, by name, with the reason: "node-3: its newest sample is 7m old".
  std::vector<std::string> examples;
  std::int32_t max_unknown_percent = 0;
  std::string problem{};                  ///< why the last request had no usable answer, empty if it had
  std::vector<std::string> complaints{};  ///< about the last answer
  std::vector<Gap> gaps{};                ///< in the order of the source's resources

  bool may_miss(std::int32_t count) const {
    return std::int64_t{count} * 100 <= std::int64_t{max_unknown_percent} * nodes;
  }
  bool has_enough() const {
    return may_miss(unknown) && std::ranges::all_of(gaps, [&](const Gap& gap) { return may_miss(gap.unknown); });
  }
  friend bool operator==(const UsageReport&, const UsageReport&) = default;
};

/// REQUIRES: `measured` and `health` are of the same source and from the collector.
UsageReport usage_report(const scheduling::MeasuredUsage& measured, const UsageHealth& health,
                         const scheduling::ClusterSnapshot& cluster,
                         const std::optional<api::LabelSelector>& node_selector);

/// Sets condition UsageAvailable. False names the first source that fails or has too few samples, with examples and its
/// last answer. True also lists minor problems. Removed for a policy without sources.
void set_usage_condition(std::vector<api::Condition>& conditions, const std::vector<UsageReport>& reports,
                         std::int64_t generation, base::TimePoint now);

/// Sets condition ForecastTrusted, with errors relative to naive forecasts. Removed for a policy without forecasts.
void set_forecast_condition(std::vector<api::Condition>& conditions, const std::vector<ForecastReport>& reports,
                            std::int64_t generation, base::TimePoint now);

}  // namespace controllers
