#pragma once

#include <string>

#include "planner/report/report.hpp"

namespace reporting {

/// The report as one page that needs nothing beside it: the viewer, its style and the data. It fetches nothing, and its
/// Content-Security-Policy forbids that and every script but the viewer.
std::string html_page(const Report& report);

}  // namespace reporting
