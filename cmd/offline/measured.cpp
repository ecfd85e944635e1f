#include "cmd/offline/measured.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cmd/input/files.hpp"
#include "cmd/plugin/process_io.hpp"
#include "cmd/session/usage_source.hpp"
#include "cmd/table.hpp"
#include "controllers/usage/rounds.hpp"
#include "controllers/usage/wanted.hpp"
#include "reporting/plain_text.hpp"
#include "usage/history.hpp"
#include "usage/matching.hpp"
#include "usage/parse/file.hpp"

namespace cmd {
namespace {

using controllers::UsageRounds;
using controllers::WantedUsage;
using scheduling::MeasuredUsage;

/// One answer is no history: hysteresis has nothing to look at.
std::shared_ptr<const MeasuredUsage> share(MeasuredUsage figures) {
  for (MeasuredUsage::Node& node : figures.nodes) node.samples.clear();
  return std::make_shared<const MeasuredUsage>(std::move(figures));
}

base::Result<MeasuredUsages> of_file(const std::string& path, const planning::PlanSpec& spec, base::TimePoint now) {
  const auto text = read_text_file(path);
  if (!text) return text.error();
  const auto samples = usage::read_usage_file(*text, now);
  if (!samples) return samples.error().during(path);
  MeasuredUsages measured;
  for (const scheduling::UsageNeed& need : spec.strategy_specs.usage_needs()) {
    UsageRounds rounds{api::UsageSource()};
    rounds.add(*samples, now);
    measured.push_back(share(rounds.figures(need.key(), now)));
  }
  return measured;
}

/// By the source's own past; a source without one foresees nothing.
controllers::Foreseen foreseen_by(usage::Source& source, const api::UsageForecast& wanted,
                                  const usage::Samples& samples, const usage::NodeMatcher& matcher,
                                  base::TimePoint now) {
  controllers::Foreseen foreseen;
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

std::shared_ptr<const MeasuredUsage> ask(plugin::Session& session, const WantedUsage& wanted,
                                         const usage::NodeMatcher& matcher, base::TimePoint now) {
  UsageRounds rounds(wanted.source);
  const auto source = plugin::usage_source_of(session, wanted.source);
  auto samples = source->sample();
  if (!samples) {
    rounds.fail(samples.error().message);
    return share(rounds.figures(wanted.key, now));
  }
  usage::match_nodes(*samples, matcher);
  controllers::Foreseen foreseen;
  if (wanted.source.forecast) foreseen = foreseen_by(*source, *wanted.source.forecast, *samples, matcher, now);
  rounds.add(*std::move(samples), now);
  rounds.foresee(std::move(foreseen));
  return share(rounds.figures(wanted.key, now));
}

usage::NodeMatcher matcher_of(const scheduling::ClusterSnapshot& cluster) {
  std::vector<usage::NodeNames> names;
  for (const scheduling::NodeIndex node : cluster.nodes()) names.push_back(usage::names_of(cluster.node(node)));
  return usage::NodeMatcher(names);
}

base::Result<MeasuredUsages> of_sources(const api::DeschedulerPolicySpec& policy, const planning::PlanSpec& spec,
                                        const scheduling::ClusterSnapshot& cluster) {
  plugin::ProcessIo process;
  const auto session = plugin::Session::connect({}, process.io());
  if (!session) return session.error();
  const usage::NodeMatcher matcher = matcher_of(cluster);
  MeasuredUsages measured;
  for (const WantedUsage& each : controllers::wanted_usage(policy.usage_sources, spec.strategy_specs.usage_needs()))
    measured.push_back(ask(**session, each, matcher, (*session)->now()));
  return measured;
}

std::string percent_text(std::int64_t amount, const MeasuredUsage::Resource& resource, std::int64_t whole) {
  if (amount == scheduling::kUnknownUsage) return "?";
  if (resource.is_percent) return fmt::format("{:.0f}%", static_cast<double>(amount) / 1000);
  return whole > 0 ? fmt::format("{:.0f}%", static_cast<double>(amount) / static_cast<double>(whole) * 100) : "?";
}

/// "40% used 72% → 85%": requested, used and, where it is known, foreseen.
std::vector<std::string> cells_of(const MeasuredUsage& measured, std::size_t resource, const MeasuredUsage::Node* node,
                                  const scheduling::ClusterSnapshot& cluster, scheduling::NodeIndex index) {
  const MeasuredUsage::Resource& column = measured.resources[resource];
  const auto number = cluster.resources().find(column.name);
  const std::int64_t whole = number ? cluster.allocatable().get(index, *number) : 0;
  std::vector<std::string> cells;
  cells.push_back(number ? percent_text(cluster.used().get(index, *number), {}, whole) : "");
  cells.push_back(node ? percent_text(node->now[resource], column, whole) : "?");
  cells.push_back(node && !node->foreseen.empty() ? percent_text(node->foreseen[resource], column, whole) : "");
  return cells;
}

}  // namespace

base::Result<MeasuredUsages> measured_usage(const std::string& from, const api::DeschedulerPolicySpec& policy,
                                            const planning::PlanSpec& spec, const scheduling::ClusterSnapshot& cluster,
                                            base::TimePoint now) {
  if (from.empty()) return MeasuredUsages{};
  return from == "live" ? of_sources(policy, spec, cluster) : of_file(from, spec, now);
}

std::string measured_table(const MeasuredUsages& measured, const scheduling::ClusterSnapshot& cluster) {
  if (measured.empty()) return {};
  const MeasuredUsage& first = *measured.front();
  std::vector<std::string> headers = {"NODE"};
  for (const MeasuredUsage::Resource& each : first.resources)
    headers.insert(headers.end(), {each.name + " REQUESTED", "USED", "FORESEEN"});
  headers.emplace_back("PROBLEM");
  Table table(headers);
  for (const scheduling::NodeIndex node : cluster.nodes()) {
    const std::string& name = cluster.node(node).meta.name;
    const auto at = std::ranges::lower_bound(first.nodes, name, {}, &MeasuredUsage::Node::name);
    const MeasuredUsage::Node* known = at != first.nodes.end() && at->name == name ? &*at : nullptr;
    std::vector<std::string> cells = {name};
    for (std::size_t r = 0; r < first.resources.size(); ++r)
      std::ranges::copy(cells_of(first, r, known, cluster, node), std::back_inserter(cells));
    cells.push_back(known ? known->problem : "not measured");
    for (std::string& cell : cells) cell = reporting::plain_text(cell);
    table.add_row(std::move(cells));
  }
  std::string text = fmt::format("\nUSAGE by {}\n", reporting::plain_text(first.source));
  if (!first.problem.empty()) text += "Warning: " + reporting::plain_text(first.problem) + "\n";
  return text + table.render();
}

}  // namespace cmd
