#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "planning/plan_spec.hpp"
#include "scheduling/measured_usage.hpp"
#include "scheduling/snapshot/cluster_snapshot.hpp"

namespace cmd {

using MeasuredUsages = std::vector<std::shared_ptr<const scheduling::MeasuredUsage>>;

/// The figures that the policy's strategies go by. `from`: a file, whose figures stand for every source that they name;
/// "live": each source is asked now, as `evacuator usage` asks it, of the nodes of `cluster`, forecasts from its past
/// included; "": none.
base::Result<MeasuredUsages> measured_usage(const std::string& from, const api::DeschedulerPolicySpec& policy,
                                            const planning::PlanSpec& spec, const scheduling::ClusterSnapshot& cluster,
                                            base::TimePoint now);

/// Requested, used and foreseen share of each node, side by side, for each of `measured` in turn; "" when there is
/// none.
std::string measured_tables(const MeasuredUsages& measured, const scheduling::ClusterSnapshot& cluster);
/// The same: [{source, problem, nodes: [{node, problem, usage: {cpu: {requestedPercent, usedPercent,
/// foreseenPercent}}}], unknownNodes: [name]}]. What is not known is null.
api::Json measured_json(const MeasuredUsages& measured, const scheduling::ClusterSnapshot& cluster);

}  // namespace cmd
