#include "cmd/offline/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cmd/input/files.hpp"
#include "cmd/plugin/process_io.hpp"
#include "cmd/session/session.hpp"
#include "cmd/table.hpp"
#include "controllers/policy/usage/rounds.hpp"
#include "controllers/policy/usage/wanted.hpp"
#include "planner/report/plain_text.hpp"
#include "usage/history.hpp"
#include "usage/matching.hpp"
#include "usage/parse/file.hpp"

namespace cmd {
namespace {

using controllers::UsageRounds;
using controllers::WantedUsage;
using scheduling::MeasuredUsage;

/// Drops the samples: a single response provides no history for hysteresis.
std::shared_ptr<const MeasuredUsage> share(MeasuredUsage figures) {
  for (MeasuredUsage::Node& node : figures.nodes) {
    node.samples.clear();
    node.times.clear();
  }
  return std::make_shared<const MeasuredUsage>(std::move(figures));
}

/// Returns a source for figures from a file. Only maxUnknownPercent applies, because a file has no history.
api::UsageSource source_of_file(const std::vector<WantedUsage>& wanted, const std::string& key) {
  api::UsageSource source;
  const auto at = std::ranges::find(wanted, key, &WantedUsage::key);
  if (at != wanted.end()) source.max_unknown_percent = at->source.max_unknown_percent;
  return source;
}

/// Reads usage from a file. A node's usage is that of all its pods in the dump, since none of them is newer than the
/// file.
base::Result<UsageAnswers> of_file(const std::string& path, const api::DeschedulerPolicySpec& policy,
                                   const planner::PlanSpec& spec, base::TimePoint now) {
  const auto text = read_text_file(path);
  if (!text) return text.error();
  const auto samples = usage::read_usage_file(*text, now);
  if (!samples) return samples.error().during(path);
  UsageAnswers measured;
  const std::vector<scheduling::UsageNeed> needs = spec.strategy_specs.usage_needs();
  const std::vector<WantedUsage> wanted = controllers::wanted_usage(policy.usage_sources, needs);
  for (const scheduling::UsageNeed& need : needs) {
    UsageRounds rounds(source_of_file(wanted, need.key()));
    rounds.add(*samples, now);
    MeasuredUsage figures = rounds.figures(need.key(), now);
    for (MeasuredUsage::Node& node : figures.nodes) node.time = base::TimePoint::max();
    measured.figures.push_back(share(std::move(figures)));
  }
  return measured;
}

/// Returns the forecast from the source's history, empty if the source has no history.
controllers::Forecasts foreseen_by(usage::Source& source, const api::UsageForecast& wanted,
                                   const usage::Samples& samples, const usage::NodeMatcher& matcher,
                                   base::TimePoint now) {
  controllers::Forecasts foreseen;
  auto past = source.history(now - wanted.history, now, wanted.step);
  if (!past) return foreseen;
  usage::match_nodes(*past, matcher);
  usage::History history(wanted);
  history.seed(samples.columns, *past);
  history.add(samples, now);
  for (const usage::Samples::Node& node : samples.nodes) {
    for (const usage::Forecast& each : history.of(node.name, now))
      foreseen[node.name].push_back(each.trusted ? controllers::thousandths(each.peak) : scheduling::kUnknownUsage);
  }
  return foreseen;
}

/// Queries the source once.
UsageRounds ask(plugin::Session& session, const WantedUsage& wanted, const usage::NodeMatcher& matcher,
                base::TimePoint now) {
  UsageRounds rounds(wanted.source);
  const auto source = plugin::usage_source_of(session, wanted.source);
  auto samples = source->sample();
  if (!samples) {
    rounds.fail(samples.error().message);
    return rounds;
  }
  usage::match_nodes(*samples, matcher);
  controllers::Forecasts foreseen;
  if (wanted.source.forecast) foreseen = foreseen_by(*source, *wanted.source.forecast, *samples, matcher, now);
  rounds.add(*std::move(samples), now);
  rounds.foresee(std::move(foreseen));
  return rounds;
}

usage::NodeMatcher matcher_of(const scheduling::ClusterSnapshot& cluster) {
  std::vector<usage::NodeNames> names;
  for (const scheduling::NodeIndex node : cluster.nodes()) names.push_back(usage::names_of(cluster.node(node)));
  return usage::NodeMatcher(names);
}

base::Result<UsageAnswers> of_sources(const api::DeschedulerPolicySpec& policy, const planner::PlanSpec& spec,
                                      const scheduling::ClusterSnapshot& cluster) {
  plugin::ProcessIo process;
  const auto session = plugin::Session::connect({}, process.io());
  if (!session) return session.error();
  const usage::NodeMatcher matcher = matcher_of(cluster);
  UsageAnswers measured;
  for (const WantedUsage& each : controllers::wanted_usage(policy.usage_sources, spec.strategy_specs.usage_needs())) {
    const base::TimePoint now = (*session)->now();
    UsageRounds rounds = ask(**session, each, matcher, now);
    measured.figures.push_back(share(rounds.figures(each.key, now)));
    measured.complaints.push_back(rounds.health().complaints);
  }
  return measured;
}

/// Percentages of the node's allocatable amount, nullopt if unknown.
struct Shares {
  std::optional<double> requested;
  std::optional<double> used;
  std::optional<double> foreseen;
};

std::optional<double> percent_of(std::int64_t amount, bool is_percent, std::int64_t whole) {
  if (amount == scheduling::kUnknownUsage) return std::nullopt;
  if (is_percent) return static_cast<double>(amount) / 1000;
  return whole > 0 ? std::optional(static_cast<double>(amount) / static_cast<double>(whole) * 100) : std::nullopt;
}

struct Measurement {
  scheduling::NodeIndex index;
  std::string name;
  const MeasuredUsage::Node* node = nullptr;  ///< nullptr if the source did not report the node

  std::string problem() const { return node == nullptr ? "not measured" : node->problem; }
};

std::vector<Measurement> measurements_of(const MeasuredUsage& measured, const scheduling::ClusterSnapshot& cluster) {
  std::vector<Measurement> rows;
  for (const scheduling::NodeIndex index : cluster.nodes()) {
    const std::string& name = cluster.node(index).meta.name;
    const auto at = std::ranges::lower_bound(measured.nodes, name, {}, &MeasuredUsage::Node::name);
    const bool is_known = at != measured.nodes.end() && at->name == name;
    rows.push_back({index, name, is_known ? &*at : nullptr});
  }
  return rows;
}

/// Returns nodes that the source reports and the cluster lacks, because they are misspelled or belong to another
/// cluster.
std::vector<std::string> strangers(const MeasuredUsage& measured, const scheduling::ClusterSnapshot& cluster) {
  std::set<std::string_view> known;
  for (const scheduling::NodeIndex index : cluster.nodes()) known.insert(cluster.node(index).meta.name);
  std::vector<std::string> names;
  for (const MeasuredUsage::Node& node : measured.nodes) {
    if (!known.contains(node.name)) names.push_back(node.name);
  }
  return names;
}

std::string text_of_strangers(const std::vector<std::string>& names) {
  constexpr std::size_t kMax = 5;
  if (names.empty()) return {};
  return "Warning: in the usage data, but not in the dump: " + report::plain_text(first_names(names, kMax)) + "\n";
}

Shares shares_of(const MeasuredUsage& measured, std::size_t resource, const Measurement& row,
                 const scheduling::ClusterSnapshot& cluster) {
  const MeasuredUsage::Resource& column = measured.resources[resource];
  const auto number = cluster.resources().find(column.name);
  const std::int64_t whole = number ? cluster.allocatable().get(row.index, *number) : 0;
  Shares shares;
  if (number) shares.requested = percent_of(cluster.used().get(row.index, *number), false, whole);
  if (row.node != nullptr && resource < row.node->now.size())
    shares.used = percent_of(row.node->now[resource], column.is_percent, whole);
  if (row.node != nullptr && resource < row.node->foreseen.size())
    shares.foreseen = percent_of(row.node->foreseen[resource], column.is_percent, whole);
  return shares;
}

std::string percent_text(std::optional<double> percent, const char* otherwise) {
  return percent ? fmt::format("{:.0f}%", *percent) : otherwise;
}

std::vector<std::string> complaints_about(const UsageAnswers& measured, std::size_t n) {
  return n < measured.complaints.size() ? measured.complaints[n] : std::vector<std::string>();
}

std::string table_of(const MeasuredUsage& measured, const std::vector<std::string>& complaints,
                     const scheduling::ClusterSnapshot& cluster) {
  std::vector<std::string> headers = {"NODE"};
  for (const MeasuredUsage::Resource& each : measured.resources)
    headers.insert(headers.end(), {report::plain_text(each.name) + " REQUESTED", "USED", "FORESEEN"});
  headers.emplace_back("PROBLEM");
  Table table(headers);
  for (const Measurement& row : measurements_of(measured, cluster)) {
    std::vector<std::string> cells = {report::plain_text(row.name)};
    for (std::size_t r = 0; r < measured.resources.size(); ++r) {
      const Shares shares = shares_of(measured, r, row, cluster);
      cells.push_back(percent_text(shares.requested, ""));
      cells.push_back(percent_text(shares.used, "?"));
      cells.push_back(percent_text(shares.foreseen, ""));
    }
    cells.push_back(report::plain_text(row.problem()));
    table.add_row(std::move(cells));
  }
  std::string text = fmt::format("\nUSAGE by {}\n", report::plain_text(measured.source));
  if (!measured.problem.empty()) text += "Warning: " + report::plain_text(measured.problem) + "\n";
  for (const std::string& each : complaints) text += "Warning: " + report::plain_text(each) + "\n";
  return text + text_of_strangers(strangers(measured, cluster)) + table.render();
}

api::Json percent_json(std::optional<double> percent) { return percent ? api::Json(*percent) : api::Json(); }

api::Json node_json(const MeasuredUsage& measured, const Measurement& row, const scheduling::ClusterSnapshot& cluster) {
  api::Json usage = api::Json::object();
  for (std::size_t r = 0; r < measured.resources.size(); ++r) {
    const Shares shares = shares_of(measured, r, row, cluster);
    usage[measured.resources[r].name] = {{"requestedPercent", percent_json(shares.requested)},
                                         {"usedPercent", percent_json(shares.used)},
                                         {"foreseenPercent", percent_json(shares.foreseen)}};
  }
  return {{"node", row.name}, {"problem", row.problem()}, {"usage", std::move(usage)}};
}

}  // namespace

base::Result<UsageAnswers> measured_usage(const std::string& from, const api::DeschedulerPolicySpec& policy,
                                          const planner::PlanSpec& spec, const scheduling::ClusterSnapshot& cluster,
                                          base::TimePoint now) {
  if (from.empty()) return UsageAnswers{};
  return from == "live" ? of_sources(policy, spec, cluster) : of_file(from, policy, spec, now);
}

std::string measured_tables(const UsageAnswers& measured, const scheduling::ClusterSnapshot& cluster) {
  std::string text;
  for (std::size_t i = 0; i < measured.figures.size(); ++i)
    text += table_of(*measured.figures[i], complaints_about(measured, i), cluster);
  return text;
}

api::Json measured_json(const UsageAnswers& measured, const scheduling::ClusterSnapshot& cluster) {
  api::Json sources = api::Json::array();
  for (std::size_t i = 0; i < measured.figures.size(); ++i) {
    const MeasuredUsage& each = *measured.figures[i];
    api::Json nodes = api::Json::array();
    for (const Measurement& row : measurements_of(each, cluster)) nodes.push_back(node_json(each, row, cluster));
    sources.push_back({{"source", each.source},
                       {"problem", each.problem},
                       {"warnings", complaints_about(measured, i)},
                       {"nodes", std::move(nodes)},
                       {"unknownNodes", strangers(each, cluster)}});
  }
  return sources;
}

}  // namespace cmd
