#include "controllers/usage/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "scheduling/predicates.hpp"

namespace controllers {
namespace {

using scheduling::MeasuredUsage;

constexpr std::size_t kExamples = 5;

std::string problem_of_node(const MeasuredUsage& measured, const std::string& name) {
  const auto found = std::ranges::lower_bound(measured.nodes, name, {}, &MeasuredUsage::Node::name);
  if (found == measured.nodes.end() || found->name != name) return "the source does not know it";
  return found->problem;
}

std::string shortage(const UsageReport& report) {
  return fmt::format("{}: {} of {} nodes have no good sample, at most {} % may: {}", report.source, report.unknown,
                     report.nodes, report.max_unknown_percent, fmt::join(report.examples, "; "));
}

api::Condition verdict(const std::vector<UsageReport>& reports, std::int64_t generation) {
  api::Condition condition;
  condition.type = std::string(to_string(api::ConditionType::kUsageAvailable));
  condition.observed_generation = generation;
  const auto say = [&](bool holds, api::Reason reason, std::string message) {
    condition.status = holds ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse;
    condition.reason = std::string(to_string(reason));
    condition.message = std::move(message);
    return condition;
  };
  for (const UsageReport& report : reports) {
    if (!report.problem.empty()) return say(false, api::Reason::kSourceFailing, report.source + ": " + report.problem);
  }
  for (const UsageReport& report : reports) {
    if (!report.has_enough()) return say(false, api::Reason::kSamplesMissing, shortage(report));
  }
  return say(true, api::Reason::kFreshSamples,
             fmt::format("all of {} have fresh samples of enough nodes", reports.size()));
}

}  // namespace

UsageReport usage_report(const MeasuredUsage& measured, const scheduling::ClusterSnapshot& cluster,
                         const std::optional<api::LabelSelector>& node_selector) {
  UsageReport report{measured.source, measured.problem, 0, 0, {}, measured.max_unknown_percent};
  for (const scheduling::NodeIndex node : cluster.nodes()) {
    const api::Node& object = cluster.node(node);
    if (!scheduling::is_looked_at(node_selector, object)) continue;
    ++report.nodes;
    const std::string problem = problem_of_node(measured, object.meta.name);
    if (problem.empty()) continue;
    ++report.unknown;
    if (report.examples.size() < kExamples) report.examples.push_back(object.meta.name + ": " + problem);
  }
  return report;
}

void tell_usage(std::vector<api::Condition>& conditions, const std::vector<UsageReport>& reports,
                std::int64_t generation, base::TimePoint now) {
  if (reports.empty()) {
    std::erase_if(conditions, [](const api::Condition& each) {
      return each.type == to_string(api::ConditionType::kUsageAvailable);
    });
    return;
  }
  api::set_condition(conditions, verdict(reports, generation), now);
}

}  // namespace controllers
