#pragma once

/// Reads Koordinator's NodeMetrics (slo.koordinator.sh/v1alpha1), as written by koordlet. Pure; tolerates any input.

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "usage/parse/rows.hpp"

namespace usage {

/// cpu in cores, memory in bytes.
inline constexpr std::size_t kKoordinatorWidth = 2;

/// Adds a page of a NodeMetricList, with nodes and their pods. Returns its continue token. If `aggregation` is empty,
/// reads status.nodeMetric.nodeUsage, else that figure (avg, p50, p90, p95, p99) of the shortest of
/// aggregatedNodeUsages. Pods only have podUsage. A row's time is status.updateTime. A node without a status has no
/// values.
base::Result<std::string> read_node_metric_list(std::string& page, std::string_view aggregation, Rows& nodes,
                                                Rows& pods);

}  // namespace usage
