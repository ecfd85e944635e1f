#include "extending/load_board.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

namespace extending {
namespace {

using scheduling::kUnknownUsage;
using scheduling::MeasuredUsage;

using Columns = std::vector<std::optional<std::size_t>>;  ///< by resource of the board

Columns columns_of(const MeasuredUsage& measured, const std::vector<std::string>& resources) {
  Columns columns;
  for (const std::string& resource : resources) {
    const auto at = std::ranges::find(measured.resources, resource, &MeasuredUsage::Resource::name);
    columns.push_back(at == measured.resources.end()
                          ? std::nullopt
                          : std::optional(static_cast<std::size_t>(at - measured.resources.begin())));
  }
  return columns;
}

double capacity_of(const api::Node& node, const std::string& resource) {
  const auto milli = api::amount_of(node.allocatable, resource).milli();
  return static_cast<double>(milli > 0 ? milli : api::amount_of(node.capacity, resource).milli());
}

/// An amount as a percentage of the node; nullopt: unknown, or of nothing.
std::optional<double> percent_of(std::int64_t amount, bool is_percent, double capacity) {
  if (amount == kUnknownUsage) return std::nullopt;
  if (is_percent) return static_cast<double>(amount) / 1000;
  return capacity > 0 ? std::optional(static_cast<double>(amount) / capacity * 100) : std::nullopt;
}

/// Of the last samples, as percentages.
std::vector<double> samples_of(const MeasuredUsage::Node& node, std::size_t column, std::size_t columns,
                               bool is_percent, double capacity) {
  std::vector<double> percents;
  for (std::size_t at = column; at < node.samples.size(); at += columns) {
    if (const auto percent = percent_of(node.samples[at], is_percent, capacity)) percents.push_back(*percent);
  }
  return percents;
}

double deviation_of(const std::vector<double>& samples) {
  if (samples.size() < 2) return 0;
  const auto count = static_cast<double>(samples.size());
  double mean = 0;
  for (const double each : samples) mean += each / count;
  double squares = 0;
  for (const double each : samples) squares += (each - mean) * (each - mean) / count;
  return std::sqrt(squares);
}

/// nullopt: no good figure of one of the resources.
std::optional<LoadBoard::Node> node_of(const MeasuredUsage& measured, const MeasuredUsage::Node& entry,
                                       const api::Node& node, const std::vector<std::string>& resources,
                                       const Columns& columns) {
  if (!entry.problem.empty()) return std::nullopt;
  LoadBoard::Node made;
  made.time = entry.time;
  for (std::size_t r = 0; r < resources.size(); ++r) {
    const double capacity = capacity_of(node, resources[r]);
    made.capacity.push_back(capacity);
    made.load.mean.push_back(0);
    made.load.deviation.push_back(0);
    if (!columns[r]) continue;
    const std::size_t column = *columns[r];
    const bool is_percent = measured.resources[column].is_percent;
    const auto now = column < entry.now.size() ? percent_of(entry.now[column], is_percent, capacity) : std::nullopt;
    if (!now) return std::nullopt;
    const auto samples = samples_of(entry, column, measured.resources.size(), is_percent, capacity);
    made.load.mean.back() = samples.empty() ? *now : std::max(*now, samples.back());
    made.load.deviation.back() = deviation_of(samples);
  }
  return made;
}

struct Sum {
  std::vector<double> amounts;
  std::vector<double> counts;
};

void add_use(const MeasuredUsage& measured, std::size_t row, const Columns& columns, Sum& sum) {
  sum.amounts.resize(columns.size());
  sum.counts.resize(columns.size());
  for (std::size_t r = 0; r < columns.size(); ++r) {
    if (!columns[r] || measured.resources[*columns[r]].is_percent) continue;
    const std::int64_t amount = measured.pod_amounts[row * measured.resources.size() + *columns[r]];
    if (amount == kUnknownUsage) continue;
    sum.amounts[r] += static_cast<double>(amount);
    sum.counts[r] += 1;
  }
}

std::unordered_map<std::string, std::vector<double>> usual_of(const MeasuredUsage& measured,
                                                              const std::vector<std::shared_ptr<const api::Pod>>& pods,
                                                              const Columns& columns) {
  std::unordered_map<std::string, Sum> sums;
  std::size_t row = 0;
  const std::size_t rows =
      measured.resources.empty()
          ? 0
          : std::min(measured.pods.size(), measured.pod_amounts.size() / measured.resources.size());
  for (const auto& pod : pods) {
    const auto key = std::tie(pod->meta.ns, pod->meta.name);
    while (row < rows && std::tie(measured.pods[row].ns, measured.pods[row].name) < key) ++row;
    if (row == rows) break;
    if (std::tie(measured.pods[row].ns, measured.pods[row].name) != key) continue;
    if (const auto* owner = pod->meta.controller(); owner != nullptr && !owner->uid.empty())
      add_use(measured, row, columns, sums[owner->uid]);
  }
  std::unordered_map<std::string, std::vector<double>> usual;
  for (auto& [uid, sum] : sums) {
    for (std::size_t r = 0; r < sum.amounts.size(); ++r)
      sum.amounts[r] = sum.counts[r] > 0 ? sum.amounts[r] / sum.counts[r] : -1;
    usual.emplace(uid, std::move(sum.amounts));
  }
  return usual;
}

}  // namespace

bool LoadBoard::measures_any() const { return std::ranges::find(is_measured, true) != is_measured.end(); }

bool LoadBoard::knows_pod(const std::string& ns, const std::string& name) const {
  const auto key = std::tie(ns, name);
  const auto at = std::ranges::lower_bound(measured->pods, key, {},
                                           [](const MeasuredUsage::Pod& each) { return std::tie(each.ns, each.name); });
  return at != measured->pods.end() && at->ns == ns && at->name == name;
}

std::shared_ptr<const LoadBoard> make_load_board(std::shared_ptr<const MeasuredUsage> measured,
                                                 std::vector<std::string> resources,
                                                 const std::vector<std::shared_ptr<const api::Node>>& nodes,
                                                 const std::vector<std::shared_ptr<const api::Pod>>& pods) {
  auto board = std::make_shared<LoadBoard>();
  const Columns columns = columns_of(*measured, resources);
  for (const auto& column : columns) board->is_measured.push_back(column.has_value());
  if (measured->problem.empty() && board->measures_any()) {
    for (const auto& node : nodes) {
      const auto at = std::ranges::lower_bound(measured->nodes, node->meta.name, {}, &MeasuredUsage::Node::name);
      if (at == measured->nodes.end() || at->name != node->meta.name) continue;
      if (auto made = node_of(*measured, *at, *node, resources, columns))
        board->nodes.emplace(node->meta.name, *std::move(made));
    }
    board->usual = usual_of(*measured, pods, columns);
  }
  board->measured = std::move(measured);
  board->resources = std::move(resources);
  return board;
}

}  // namespace extending
