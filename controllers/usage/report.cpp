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

/// What a condition says.
struct Word {
  bool holds;
  api::Reason reason;
  std::string message;
};

Word word_on_usage(const std::vector<UsageReport>& reports) {
  for (const UsageReport& report : reports) {
    if (!report.problem.empty()) return {false, api::Reason::kSourceFailing, report.source + ": " + report.problem};
  }
  for (const UsageReport& report : reports) {
    if (!report.has_enough()) return {false, api::Reason::kSamplesMissing, shortage(report)};
  }
  return {true, api::Reason::kFreshSamples,
          fmt::format("{} of {} sources have fresh samples of enough nodes", reports.size(), reports.size())};
}

std::string describe(const ForecastReport& report) {
  const usage::ForecastQuality& quality = report.quality;
  if (quality.judged == 0) return report.source + ": too little history to judge forecasts";
  std::string text =
      fmt::format("{}: {} of {} series are foreseen better than by \"as now\" and not worse than by \"as yesterday\"",
                  report.source, quality.trusted, quality.judged);
  if (quality.naive_error > 0) text += fmt::format(", error {:.2f} of theirs", quality.error / quality.naive_error);
  return text;
}

Word word_on_forecasts(const std::vector<ForecastReport>& reports) {
  std::uint32_t judged = 0;
  std::uint32_t trusted = 0;
  std::string text;
  for (const ForecastReport& report : reports) {
    judged += report.quality.judged;
    trusted += report.quality.trusted;
    text += (text.empty() ? "" : "; ") + describe(report);
  }
  if (judged == 0) return {false, api::Reason::kTooLittleHistory, text};
  return {trusted > 0, trusted > 0 ? api::Reason::kBetterThanNaive : api::Reason::kWorseThanNaive, text};
}

void tell(std::vector<api::Condition>& conditions, api::ConditionType type, const std::optional<Word>& word,
          std::int64_t generation, base::TimePoint now) {
  if (!word) {
    std::erase_if(conditions, [&](const api::Condition& each) { return each.type == to_string(type); });
    return;
  }
  const auto status = word->holds ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse;
  api::set_condition(
      conditions,
      {std::string(to_string(type)), status, std::string(to_string(word->reason)), word->message, generation, {}}, now);
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
  tell(conditions, api::ConditionType::kUsageAvailable,
       reports.empty() ? std::nullopt : std::optional(word_on_usage(reports)), generation, now);
}

void tell_forecasts(std::vector<api::Condition>& conditions, const std::vector<ForecastReport>& reports,
                    std::int64_t generation, base::TimePoint now) {
  tell(conditions, api::ConditionType::kForecastTrusted,
       reports.empty() ? std::nullopt : std::optional(word_on_forecasts(reports)), generation, now);
}

}  // namespace controllers
