#pragma once

#include <string>

#include "planner/report/report.hpp"

namespace report {

/// Returns the report as one self-contained page with viewer, style and data. The page fetches nothing, and its
/// Content-Security-Policy forbids fetches and every script except the viewer.
std::string html_page(const Report& report);

}  // namespace report
