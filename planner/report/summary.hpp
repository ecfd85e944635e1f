#pragma once

#include <string>
#include <vector>

#include "planner/report/report.hpp"

namespace reporting {

/// The report's numbers in a few sentences, one a line.
std::vector<std::string> summary_lines(const Report& report);

/// 0.946 as "95 %"; what is not nothing is never "0 %", and what is not all never "100 %".
std::string percent(double share);

/// "1 node", "1,000 nodes".
std::string plural(std::int64_t count, std::string_view noun);

}  // namespace reporting
