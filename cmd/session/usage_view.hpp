#pragma once

/// What usage sources say, as people and programs read it. Pure.

#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "controllers/policy/usage/wanted.hpp"
#include "usage/samples.hpp"

namespace cmd {

/// One source of one policy, and its answer.
struct UsageAnswer {
  std::string policy;
  api::UsageSource source;
  base::Result<usage::Samples> samples;
};

/// A headline with a row for each of `nodes` below it: amounts with their share of allocatable, age, and why a row does
/// not count. Nodes that a source names and the cluster does not have come last.
std::string render_usage(const UsageAnswer& answer, const std::vector<api::Node>& nodes, base::TimePoint now);

/// {policy, source, type, problem, warnings, nodes: [{node, time, ageSeconds, usage: {resource: number}, problem}]}. A
/// sample that does not say of when it is has neither time nor age.
api::Json usage_json(const UsageAnswer& answer, const std::vector<api::Node>& nodes, base::TimePoint now);

}  // namespace cmd
