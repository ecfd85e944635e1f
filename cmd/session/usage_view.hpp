#pragma once

/// Text and JSON output of usage sources. Pure.

#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "controllers/policy/usage/wanted.hpp"
#include "usage/samples.hpp"

namespace cmd {

/// A usage source of a policy and its response.
struct UsageAnswer {
  std::string policy;
  api::UsageSource source;
  base::Result<usage::Samples> samples;
};

/// Renders a headline and a row for each of `nodes`: amounts with their share of allocatable, age, and why a row is not
/// used. Nodes that the source reports but the cluster lacks come last.
std::string render_usage(const UsageAnswer& answer, const std::vector<api::Node>& nodes, base::TimePoint now);

/// Returns {policy, source, type, problem, warnings, nodes: [{node, time, ageSeconds, usage: {resource: number},
/// problem}]}. A sample without a timestamp has neither time nor ageSeconds.
api::Json usage_json(const UsageAnswer& answer, const std::vector<api::Node>& nodes, base::TimePoint now);

}  // namespace cmd
