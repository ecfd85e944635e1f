#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "api/meta/condition.hpp"
#include "controllers/policy/usage/collector.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace controllers {

/// How much of what a source should say is usable, over the nodes that a policy looks at.
struct UsageReport {
  /// A resource that nodes with a good sample lack.
  struct Gap {
    std::string resource;
    std::int32_t unknown = 0;           ///< nodes without a good figure of it, those without any included
    std::vector<std::string> examples;  ///< the first by name that lack it alone
    friend bool operator==(const Gap&, const Gap&) = default;
  };

  std::string source;
  bool has_answered = true;  ///< once at least
  std::int32_t nodes = 0;
  std::int32_t unknown = 0;           ///< nodes without a good sample
  std::vector<std::string> examples;  ///< the first of them by name, with why: "node-3: its newest sample is 7m old"
  std::int32_t max_unknown_percent = 0;
  std::string problem{};                  ///< why the last question had no usable answer; empty: it had
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

/// REQUIRES: `measured` and `health` are of one source, as the collector made them.
UsageReport usage_report(const scheduling::MeasuredUsage& measured, const UsageHealth& health,
                         const scheduling::ClusterSnapshot& cluster,
                         const std::optional<api::LabelSelector>& node_selector);

/// Condition UsageAvailable: False names the first source that fails or has too few samples, with examples and with
/// what its last answer was; True tells what is wrong all the same. A policy without sources does not have it.
void set_usage_condition(std::vector<api::Condition>& conditions, const std::vector<UsageReport>& reports,
                         std::int64_t generation, base::TimePoint now);

/// Condition ForecastTrusted: whether forecasts are used, with their error as a share of each naive one's. A policy
/// without forecasts does not have it.
void set_forecast_condition(std::vector<api::Condition>& conditions, const std::vector<ForecastReport>& reports,
                            std::int64_t generation, base::TimePoint now);

}  // namespace controllers
