#include "cmd/extender/load_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "planner/snapshot/resources.hpp"

namespace extender {
namespace {

using scheduling::kUnknownUsage;
using scheduling::MeasuredUsage;

using Columns = std::vector<std::optional<std::size_t>>;  ///< by resource of the LoadModel

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

/// Converts an amount to a percentage of the node's capacity. Returns nullopt if it is unknown or the capacity is 0.
std::optional<double> percent_of(std::int64_t amount, bool is_percent, double capacity) {
  if (amount == kUnknownUsage) return std::nullopt;
  if (is_percent) return static_cast<double>(amount) / 1000;
  return capacity > 0 ? std::optional(static_cast<double>(amount) / capacity * 100) : std::nullopt;
}

/// Returns the samples of one column as percentages, NaN if unknown.
std::vector<double> samples_of(const MeasuredUsage::Node& node, std::size_t column, std::size_t columns,
                               bool is_percent, double capacity) {
  std::vector<double> percents;
  for (std::size_t at = column; at < node.samples.size(); at += columns)
    percents.push_back(
        percent_of(node.samples[at], is_percent, capacity).value_or(std::numeric_limits<double>::quiet_NaN()));
  return percents;
}

/// Sets the sample times. Without times from the source, all samples get the time of the newest one, so that later
/// arrivals count in each of them.
void keep_times(const MeasuredUsage::Node& entry, std::size_t columns, LoadModel::Node& node) {
  const std::size_t count = columns == 0 ? 0 : entry.samples.size() / columns;
  node.times = entry.times.size() == count ? entry.times : std::vector<base::TimePoint>(count, entry.time);
}

/// Returns nullopt if a resource has no valid value.
std::optional<LoadModel::Node> node_of(const MeasuredUsage& measured, const MeasuredUsage::Node& entry,
                                       const api::Node& node, const std::vector<std::string>& resources,
                                       const Columns& columns) {
  if (!entry.problem.empty()) return std::nullopt;
  LoadModel::Node made;
  made.time = entry.time;
  keep_times(entry, measured.resources.size(), made);
  made.samples.assign(made.times.size() * resources.size(), std::numeric_limits<double>::quiet_NaN());
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
    auto samples = samples_of(entry, column, measured.resources.size(), is_percent, capacity);
    for (std::size_t i = 0; i < made.times.size(); ++i) made.samples[i * resources.size() + r] = samples[i];
    const bool has_newest = !samples.empty() && !std::isnan(samples.back());
    made.load.mean.back() = has_newest ? std::max(*now, samples.back()) : *now;
    std::erase_if(samples, [](double each) { return std::isnan(each); });
    made.load.deviation.back() = deviation_of(samples);
  }
  return made;
}

std::vector<double> use_of_row(const MeasuredUsage& measured, std::size_t row, const Columns& columns) {
  std::vector<double> use(columns.size(), -1);
  for (std::size_t r = 0; r < columns.size(); ++r) {
    if (!columns[r] || measured.resources[*columns[r]].is_percent) continue;
    const std::int64_t amount = measured.pod_amounts[row * measured.resources.size() + *columns[r]];
    if (amount != kUnknownUsage) use[r] = static_cast<double>(amount);
  }
  return use;
}

std::size_t rows_of(const MeasuredUsage& measured) {
  if (measured.resources.empty()) return 0;
  return std::min(measured.pods.size(), measured.pod_amounts.size() / measured.resources.size());
}

base::TimePoint newest_time(const MeasuredUsage& measured) {
  base::TimePoint newest{};
  for (const MeasuredUsage::Node& node : measured.nodes) newest = std::max(newest, node.time);
  return newest;
}

/// Ratio of two sums over pods, by resource.
struct Ratio {
  std::vector<double> sums, bases, counts;

  /// Skips resources whose usage is unknown or whose base is 0.
  void add(const std::vector<double>& use, const std::vector<double>& base) {
    for (auto* each : {&sums, &bases, &counts}) each->resize(use.size());
    for (std::size_t r = 0; r < use.size(); ++r) {
      if (use[r] < 0 || base[r] <= 0) continue;
      sums[r] += use[r];
      bases[r] += base[r];
      counts[r] += 1;
    }
  }
  /// Returns `otherwise` for resources of fewer than `min_count` pods.
  std::vector<double> get(std::size_t resources, double min_count, double otherwise) const {
    std::vector<double> ratios(resources, otherwise);
    for (std::size_t r = 0; r < counts.size(); ++r) {
      if (counts[r] >= min_count) ratios[r] = sums[r] / bases[r];
    }
    return ratios;
  }
};

/// Fills usual and usage_ratio. Pods that started after `warm_since` are cold.
void learn_usage(LoadModel& board, const MeasuredUsage& measured,
                 const std::vector<std::shared_ptr<const api::Pod>>& pods, const Columns& columns,
                 const std::vector<std::string>& resources, base::TimePoint warm_since) {
  constexpr double kMinPods = 20;
  constexpr double kMinRatio = 0.1;
  constexpr double kMaxRatio = 2;
  std::unordered_map<std::string, std::pair<Ratio, Ratio>> means;  // mean usage of warm and of cold pods
  const std::vector<double> ones(columns.size(), 1);
  Ratio share;
  std::size_t row = 0;
  const std::size_t rows = rows_of(measured);
  for (const auto& pod : pods) {
    const auto key = std::tie(pod->meta.ns, pod->meta.name);
    while (row < rows && std::tie(measured.pods[row].ns, measured.pods[row].name) < key) ++row;
    if (row == rows) break;
    if (std::tie(measured.pods[row].ns, measured.pods[row].name) != key) continue;
    const auto use = use_of_row(measured, row, columns);
    const bool is_warm = pod->start_time.value_or(pod->meta.creation_timestamp) <= warm_since;
    if (is_warm) share.add(use, requests_of(*pod, resources));
    const auto* owner = pod->meta.controller();
    if (owner == nullptr || owner->uid.empty()) continue;
    auto& [warm, cold] = means[owner->uid];
    (is_warm ? warm : cold).add(use, ones);
  }
  for (const auto& [uid, both] : means)
    board.usual.emplace(
        uid, LoadModel::Usual{both.first.get(columns.size(), 1, -1), both.second.get(columns.size(), 1, -1)});
  board.usage_ratio = share.get(columns.size(), kMinPods, 1);
  for (double& ratio : board.usage_ratio) ratio = std::clamp(ratio, kMinRatio, kMaxRatio);
}

}  // namespace

std::optional<std::size_t> LoadModel::place_of(const std::string& resource) const {
  const auto place = static_cast<std::size_t>(std::ranges::find(resources, resource) - resources.begin());
  return place < resources.size() && is_measured(place) ? std::optional(place) : std::nullopt;
}

base::Duration LoadModel::max_sample_age() const {
  base::Duration longest{};
  for (std::size_t r = 0; r < windows.size(); ++r) longest = std::max(longest, windows[r] + lags[r]);
  return longest;
}

std::vector<double> LoadModel::use_of(const std::string& ns, const std::string& name) const {
  const auto key = std::tie(ns, name);
  const auto at = std::ranges::lower_bound(measured->pods, key, {},
                                           [](const MeasuredUsage::Pod& each) { return std::tie(each.ns, each.name); });
  const auto row = static_cast<std::size_t>(at - measured->pods.begin());
  if (row >= rows_of(*measured) || at->ns != ns || at->name != name) return std::vector<double>(resources.size(), -1);
  return use_of_row(*measured, row, columns);
}

std::vector<double> requests_of(const api::Pod& pod, const std::vector<std::string>& resources) {
  scheduling::ResourceNames names;
  scheduling::PodRequests requests;
  scheduling::pod_requests(pod, names, requests);
  std::vector<double> amounts;
  for (const std::string& resource : resources) {
    const auto number = names.find(resource);
    if (number == scheduling::kCpuIndex || number == scheduling::kMemoryIndex)
      amounts.push_back(static_cast<double>(requests.scored.of(*number)));
    else
      amounts.push_back(number ? static_cast<double>(scheduling::amount_of(requests.amounts, *number)) : 0);
  }
  return amounts;
}

double deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double each : values) mean += each / count;
  double squares = 0;
  for (const double each : values) squares += (each - mean) * (each - mean) / count;
  return std::sqrt(squares);
}

std::shared_ptr<const LoadModel> make_load_model(std::shared_ptr<const MeasuredUsage> measured,
                                                 std::vector<std::string> resources,
                                                 const std::vector<std::shared_ptr<const api::Node>>& nodes,
                                                 const std::vector<std::shared_ptr<const api::Pod>>& pods) {
  auto board = std::make_shared<LoadModel>();
  board->columns = columns_of(*measured, resources);
  const Columns& columns = board->columns;
  board->usage_ratio.assign(resources.size(), 1);
  for (const auto& column : columns) {
    board->windows.push_back(column ? measured->resources[*column].window : base::Duration{});
    board->lags.push_back(column ? measured->resources[*column].lag : base::Duration{});
  }
  const bool measures_any = std::ranges::any_of(columns, [](const auto& column) { return column.has_value(); });
  if (measured->problem.empty() && measures_any) {
    for (const auto& node : nodes) {
      const auto at = std::ranges::lower_bound(measured->nodes, node->meta.name, {}, &MeasuredUsage::Node::name);
      if (at == measured->nodes.end() || at->name != node->meta.name) continue;
      if (auto made = node_of(*measured, *at, *node, resources, columns))
        board->nodes.emplace(node->meta.name, *std::move(made));
    }
    learn_usage(*board, *measured, pods, columns, resources,
                newest_time(*measured) - board->max_sample_age() - kWarmUp);
  }
  board->measured = std::move(measured);
  board->resources = std::move(resources);
  return board;
}

}  // namespace extender
