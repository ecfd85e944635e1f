#pragma once

/// Koordinator's NodeMetrics (slo.koordinator.sh/v1alpha1), which koordlet writes. Pure; survives any input.

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "usage/parse/rows.hpp"

namespace usage {

/// cpu in cores, memory in bytes.
inline constexpr std::size_t kKoordinatorWidth = 2;

/// Adds a page of a NodeMetricList: nodes, and the pods on them; returns its continue token. `aggregation` empty:
/// status.nodeMetric.nodeUsage, else that figure (avg, p50, p90, p95, p99) of the shortest of aggregatedNodeUsages.
/// Pods have no other figure than podUsage. A row's time is status.updateTime. A node without a status has no values.
base::Result<std::string> read_node_metric_list(std::string& page, std::string_view aggregation, Rows& nodes,
                                                Rows& pods);

}  // namespace usage
