#pragma once

/// The past of nodes from Prometheus.

#include <string>
#include <vector>

#include "advisor/nodes.hpp"
#include "cmd/advise/prometheus.hpp"
#include "usage/matching.hpp"

namespace cmd::advise {

/// Whole days: the first, and the one behind the last.
struct DayWindow {
  advising::Day from = 0;
  advising::Day to = 0;
};

/// Asks for every day and figure. Sources may know nodes by their addresses. A figure that several series tell of one
/// node is not known: which of them is true? `problems` gets what could not be used, for people.
base::Result<advising::NodeDays> read_node_days(PrometheusSession& session, const DayWindow& window,
                                                const usage::NodeMatcher& matcher, std::vector<std::string>& problems);

}  // namespace cmd::advise
