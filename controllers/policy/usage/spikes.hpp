#pragma once

/// Computes the input of trigger UsageSpike.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/core/kinds.hpp"
#include "planner/snapshot/measured_usage.hpp"

namespace controllers {

using NodeLookup = std::function<std::shared_ptr<const api::Node>(const std::string& name)>;

/// Returns the maximum usage of `resource` over nodes, in percent of allocatable. Ignores nodes without a good sample
/// and unknown nodes. NaN if none remains or the source does not know the resource.
double highest_percent(const scheduling::MeasuredUsage& measured, std::string_view resource, const NodeLookup& node);

}  // namespace controllers
