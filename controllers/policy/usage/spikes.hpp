#pragma once

/// What the trigger UsageSpike goes by.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/core/kinds.hpp"
#include "planner/snapshot/measured_usage.hpp"

namespace controllers {

using NodeLookup = std::function<std::shared_ptr<const api::Node>(const std::string& name)>;

/// How much of its allocatable the node uses that uses most of `resource`, in percent. Nodes without a good sample, or
/// that do not exist, do not count. NaN: none is left, or the source does not know the resource.
double highest_percent(const scheduling::MeasuredUsage& measured, std::string_view resource, const NodeLookup& node);

}  // namespace controllers
