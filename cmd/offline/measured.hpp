#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "planner/plan/plan_spec.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/measured_usage.hpp"

namespace cmd {

using MeasuredUsages = std::vector<std::shared_ptr<const scheduling::MeasuredUsage>>;

/// Usage figures and problems with the responses that they come from.
struct UsageAnswers {
  MeasuredUsages figures;
  /// By index of `figures`: short texts. Sources beyond the end have no complaints.
  std::vector<std::vector<std::string>> complaints{};
};

/// Returns the usage figures that the policy's strategies need. `from` is a file, whose figures apply to every source;
/// "live", which queries each source now for the nodes of `cluster`, including forecasts, like `evacuator usage`; or
/// empty for none.
base::Result<UsageAnswers> measured_usage(const std::string& from, const api::DeschedulerPolicySpec& policy,
                                          const planner::PlanSpec& spec, const scheduling::ClusterSnapshot& cluster,
                                          base::TimePoint now);

/// Renders the requested, used and forecast share of each node as one table per source, with problems. Empty if there
/// are no figures.
std::string measured_tables(const UsageAnswers& measured, const scheduling::ClusterSnapshot& cluster);
/// Returns [{source, problem, warnings: [text], nodes: [{node, problem, usage: {cpu: {requestedPercent, usedPercent,
/// foreseenPercent}}}], unknownNodes: [name]}]. Unknown values are null.
api::Json measured_json(const UsageAnswers& measured, const scheduling::ClusterSnapshot& cluster);

}  // namespace cmd
