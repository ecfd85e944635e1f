#include "controllers/policy/usage/spikes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace controllers {

double highest_percent(const scheduling::MeasuredUsage& measured, std::string_view resource, const NodeLookup& node) {
  double highest = std::numeric_limits<double>::quiet_NaN();
  const auto column = std::ranges::find(measured.resources, resource, &scheduling::MeasuredUsage::Resource::name);
  if (column == measured.resources.end() || !measured.problem.empty()) return highest;
  const auto at = static_cast<std::size_t>(column - measured.resources.begin());
  for (const auto& each : measured.nodes) {
    if (!each.problem.empty() || at >= each.now.size() || each.now[at] == scheduling::kUnknownUsage) continue;
    const auto known = node(each.name);
    if (!known) continue;
    const double capacity =
        column->is_percent ? 100'000 : static_cast<double>(api::amount_of(known->allocatable, resource).milli());
    if (capacity > 0) highest = std::fmax(highest, static_cast<double>(each.now[at]) * 100 / capacity);
  }
  return highest;
}

}  // namespace controllers
