#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "planner/report/report.hpp"

namespace cmd {

/// Returns an error for the first path whose extension is not .html, .svg or .json.
base::Status check_report_paths(const std::vector<std::string>& paths);

/// Writes the report to each path in the format of its extension. Replaces existing files atomically.
base::Status write_reports(const report::Report& report, const std::vector<std::string>& paths);

}  // namespace cmd
