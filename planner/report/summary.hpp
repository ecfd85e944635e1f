#pragma once

#include <string>
#include <vector>

#include "planner/report/report.hpp"

namespace report {

/// Summarizes the report in a few sentences, one per line.
std::vector<std::string> summary_lines(const Report& report);

/// Formats 0.946 as "95 %". Positive shares are never formatted as "0 %", and shares below 1 never as "100 %".
std::string percent(double share);

/// Formats "1 node", "1,000 nodes".
std::string plural(std::int64_t count, std::string_view noun);

}  // namespace report
