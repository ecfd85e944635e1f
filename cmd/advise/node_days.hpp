#pragma once

/// Daily usage history of nodes, read from Prometheus.

#include <string>
#include <vector>

#include "advisor/nodes.hpp"
#include "cmd/advise/prometheus.hpp"
#include "usage/matching.hpp"

namespace cmd::advise {

/// Range of whole days: [from, to).
struct DayWindow {
  advisor::Day from = 0;
  advisor::Day to = 0;
};

/// Queries every daily figure for each day of the window. Prometheus may identify nodes by address; `matcher` maps
/// instances to nodes. A figure with more than one series for a node is ambiguous and is stored as kUnknown. Appends
/// human-readable descriptions of values that could not be used to `problems`.
base::Result<advisor::NodeDays> read_node_days(PrometheusSession& session, const DayWindow& window,
                                               const usage::NodeMatcher& matcher, std::vector<std::string>& problems);

}  // namespace cmd::advise
