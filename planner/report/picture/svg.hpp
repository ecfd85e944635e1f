#pragma once

#include <string>

#include "planner/report/report.hpp"

namespace reporting {

/// The report as one SVG picture: what it comes to, the cluster before and after, histograms, what holds nodes. Light
/// or dark as the reader prefers. Small clusters have a tooltip for each pod; beyond kMaxTooltips pods the tiles of a
/// node are drawn together.
std::string svg_picture(const Report& report);

inline constexpr std::size_t kMaxTooltips = 3000;

}  // namespace reporting
