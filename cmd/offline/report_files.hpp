#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "planner/report/report.hpp"

namespace cmd {

/// The error names the first of `paths` whose ending says no kind of report: .html, .svg or .json.
base::Status check_report_paths(const std::vector<std::string>& paths);

/// Writes each of them, as its ending says; an older file is replaced as a whole or stays as it is.
base::Status write_reports(const reporting::Report& report, const std::vector<std::string>& paths);

}  // namespace cmd
