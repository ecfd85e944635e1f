#pragma once

#include <string>
#include <string_view>

#include "planner/report/report.hpp"

namespace report {

/// Draws the report as one SVG picture: summary, cluster before and after the plan, histograms, held nodes. Follows the
/// reader's preference for a light or dark scheme. Each pod has a tooltip; above kMaxTooltips pods the tiles of a node
/// are merged instead.
std::string svg_picture(const Report& report);

inline constexpr std::size_t kMaxTooltips = 3000;

/// Returns the text clipped with "…" to about `pixels` at this font size.
std::string clip_to(std::string_view text, double pixels, double font_size);

}  // namespace report
