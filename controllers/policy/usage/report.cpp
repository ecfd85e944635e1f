#include "controllers/policy/usage/report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/text.hpp"
#include "controllers/policy/condition.hpp"
#include "planner/scheduling/predicates.hpp"

namespace controllers {
namespace {

using scheduling::MeasuredUsage;

constexpr std::size_t kExamples = 5;
constexpr std::size_t kMaxMessage = 8192;  // of a condition

/// Returns nullptr if the source does not know the node.
const MeasuredUsage::Node* find_node(const MeasuredUsage& measured, const std::string& name) {
  const auto found = std::ranges::lower_bound(measured.nodes, name, {}, &MeasuredUsage::Node::name);
  return found == measured.nodes.end() || found->name != name ? nullptr : &*found;
}

void add_example(std::vector<std::string>& examples, std::string text) {
  if (examples.size() < kExamples) examples.push_back(std::move(text));
}

void note_gaps(UsageReport& report, const MeasuredUsage& measured, const MeasuredUsage::Node& node) {
  for (UsageReport::Gap& gap : report.gaps) {
    const auto column = std::ranges::find(measured.resources, gap.resource, &MeasuredUsage::Resource::name);
    const auto at = static_cast<std::size_t>(column - measured.resources.begin());
    if (at < node.now.size() && node.now[at] != scheduling::kUnknownUsage) continue;
    ++gap.unknown;
    add_example(gap.examples, node.name);
  }
}

/// Describes the more severe shortage.
std::string shortage(const UsageReport& report) {
  if (!report.may_miss(report.unknown))
    return fmt::format("{} of {} nodes have no usable sample, the maximum is {} %: {}", report.unknown, report.nodes,
                       report.max_unknown_percent, fmt::join(report.examples, "; "));
  const auto gap = std::ranges::find_if(report.gaps, [&](const auto& each) { return !report.may_miss(each.unknown); });
  return fmt::format("{} of {} nodes have no usable value of {}, the maximum is {} %: {}", gap->unknown, report.nodes,
                     gap->resource, report.max_unknown_percent, fmt::join(gap->examples, ", "));
}

/// Returns e.g. "; last answer: HTTP 401 …", "; query cpu: no data; …", or "" if there are no faults.
std::string faults(const UsageReport& report) {
  if (!report.problem.empty()) return "; last answer: " + report.problem;
  return report.complaints.empty() ? "" : fmt::format("; {}", fmt::join(report.complaints, "; "));
}

/// Content of a condition.
struct Word {
  bool holds;
  api::Reason reason;
  std::string message;
};

Word usage_text(const std::vector<UsageReport>& reports) {
  for (const UsageReport& report : reports) {
    if (!report.has_answered) return {false, api::Reason::kSourceFailing, report.source + ": " + report.problem};
    if (!report.problem.empty() && !report.has_enough())
      return {false, api::Reason::kSourceFailing, report.source + ": " + shortage(report) + faults(report)};
  }
  std::string told;
  for (const UsageReport& report : reports) {
    const std::string wrong = faults(report);
    if (!report.has_enough())
      return {false, api::Reason::kSamplesMissing, fmt::format("{}: {}{}", report.source, shortage(report), wrong)};
    if (!wrong.empty()) told += fmt::format("; {}: {}", report.source, wrong.substr(2));
  }
  return {true, api::Reason::kFreshSamples,
          fmt::format("{} of {} sources have recent samples of enough nodes{}", reports.size(), reports.size(), told)};
}

std::string describe(const ForecastReport& report) {
  const usage::ForecastQuality& quality = report.quality;
  if (quality.judged == 0) return report.source + ": too little history to evaluate forecasts";
  std::string text = fmt::format(
      "{}: the forecasts of {} of {} series are more accurate than \"as now\" and not less accurate than \"as "
      "yesterday\"",
      report.source, quality.trusted, quality.judged);
  std::string errors;
  if (std::isfinite(quality.ratio_to_now)) errors += fmt::format("{:.2f} of that of \"as now\"", quality.ratio_to_now);
  if (std::isfinite(quality.to_yesterday))
    errors += fmt::format("{}{:.2f} of that of \"as yesterday\"", errors.empty() ? "" : ", ", quality.to_yesterday);
  if (!errors.empty()) text += ", error " + errors;
  return text;
}

Word forecast_text(const std::vector<ForecastReport>& reports) {
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
  std::string message = base::truncate_utf8(word->message, kMaxMessage);
  api::set_condition(conditions, condition(type, word->holds, word->reason, std::move(message), generation), now);
}

}  // namespace

UsageReport usage_report(const MeasuredUsage& measured, const UsageHealth& health,
                         const scheduling::ClusterSnapshot& cluster,
                         const std::optional<api::LabelSelector>& node_selector) {
  UsageReport report{measured.source, measured.problem.empty(), 0, 0, {}, measured.max_unknown_percent,
                     health.problem,  health.complaints,        {}};
  for (const std::string& resource : health.columns) report.gaps.push_back({resource, 0, {}});
  for (const scheduling::NodeIndex node : cluster.nodes()) {
    const api::Node& object = cluster.node(node);
    if (!scheduling::is_in_scope(node_selector, object)) continue;
    ++report.nodes;
    const MeasuredUsage::Node* const known = find_node(measured, object.meta.name);
    const std::string problem = known == nullptr ? "the source has no data for it" : known->problem;
    if (problem.empty()) {
      note_gaps(report, measured, *known);
      continue;
    }
    ++report.unknown;
    for (UsageReport::Gap& gap : report.gaps) ++gap.unknown;
    add_example(report.examples, object.meta.name + ": " + problem);
  }
  return report;
}

void set_usage_condition(std::vector<api::Condition>& conditions, const std::vector<UsageReport>& reports,
                         std::int64_t generation, base::TimePoint now) {
  tell(conditions, api::ConditionType::kUsageAvailable,
       reports.empty() ? std::nullopt : std::optional(usage_text(reports)), generation, now);
}

void set_forecast_condition(std::vector<api::Condition>& conditions, const std::vector<ForecastReport>& reports,
                            std::int64_t generation, base::TimePoint now) {
  tell(conditions, api::ConditionType::kForecastTrusted,
       reports.empty() ? std::nullopt : std::optional(forecast_text(reports)), generation, now);
}

}  // namespace controllers
