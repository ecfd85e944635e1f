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

/// Figures, and what is wrong with the answers that they are made of.
struct UsageAnswers {
  MeasuredUsages figures;
  /// For each of `figures` in turn, few and short; beyond the end: none.
  std::vector<std::vector<std::string>> complaints{};
};

/// The figures that the policy's strategies go by. `from`: a file, whose figures stand for every source that they name;
/// "live": each source is asked now, as `evacuator usage` asks it, of the nodes of `cluster`, forecasts from its past
/// included; "": none.
base::Result<UsageAnswers> measured_usage(const std::string& from, const api::DeschedulerPolicySpec& policy,
                                          const planning::PlanSpec& spec, const scheduling::ClusterSnapshot& cluster,
                                          base::TimePoint now);

/// Requested, used and foreseen share of each node, side by side, for each of `measured` in turn, with what is wrong
/// with it; "" when there is none.
std::string measured_tables(const UsageAnswers& measured, const scheduling::ClusterSnapshot& cluster);
/// The same: [{source, problem, warnings: [text], nodes: [{node, problem, usage: {cpu: {requestedPercent, usedPercent,
/// foreseenPercent}}}], unknownNodes: [name]}]. What is not known is null.
api::Json measured_json(const UsageAnswers& measured, const scheduling::ClusterSnapshot& cluster);

}  // namespace cmd
