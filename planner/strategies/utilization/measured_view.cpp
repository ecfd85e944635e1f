#include "planner/strategies/utilization/measured_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "api/meta/well_known.hpp"

namespace strategies {
namespace {

using scheduling::kUnknownUsage;

/// Time after a pod's start during which a sample hardly shows its usage.
constexpr base::seconds kWarmUp{120};

std::int64_t scaled(std::int64_t amount, double factor) {
  constexpr double kMax = 9e18;
  return static_cast<std::int64_t>(std::clamp(static_cast<double>(amount) * factor, 0.0, kMax));
}

}  // namespace

base::Result<const MeasuredUsage*> find_measured(const StrategyContext& context, const UsageNeed& need) {
  const std::string key = need.key();
  for (const auto& measured : context.measured) {
    if (!measured || measured->source != key) continue;
    if (measured->problem.empty()) return measured.get();
    return base::unavailable(fmt::format("usage source {}: {}", key, measured->problem));
  }
  return base::unavailable(fmt::format("usage source {}: nothing is measured", key));
}

MeasuredView::MeasuredView(const MeasuredUsage& measured, const WhatIf& cluster, Options options,
                           MeasuredEntriesMemo* memo)
    : measured_(measured),
      cluster_(cluster),
      options_(options),
      entries_(memo != nullptr ? memo->of(measured, cluster.base())
                               : std::make_shared<const MeasuredEntries>(measured, cluster.base())) {
  for (const MeasuredUsage::Resource& resource : measured.resources) {
    known_.push_back(cluster.base().resources().find(resource.name));
    converts_.push_back(resource.is_percent && known_.back() ? 1 : 0);
  }
  common_rise_.assign(cluster.base().node_count() * known_.size(), 0);
  take_figures();
  correction_.assign(amounts_.size(), 0);
  if (!options_.corrects) return;
  correct_for_pods();
  if (options_.by_means) correct_for_means();
}

MeasuredView MeasuredView::by(Figure figure) const {
  MeasuredView other = *this;
  other.options_.figure = figure;
  other.take_figures();
  return other;
}

std::optional<std::size_t> MeasuredView::column_of(std::string_view resource) const {
  const auto at = std::ranges::find(measured_.resources, resource, &MeasuredUsage::Resource::name);
  if (at == measured_.resources.end()) return std::nullopt;
  return static_cast<std::size_t>(at - measured_.resources.begin());
}

/// A terminating pod without measurements may already be missing in the node's value.
bool MeasuredView::has_in_node(PodIndex pod) const {
  return has_entry(pod) || measured_.pods.empty() || !cluster_.base().pod(pod).meta.is_terminating();
}

bool MeasuredView::is_percent(std::string_view resource) const {
  const auto column = column_of(resource);
  return column && measured_.resources[*column].is_percent && !known_[*column];
}

const MeasuredUsage::Node* MeasuredView::entry_of(NodeIndex node) const {
  const std::uint32_t entry = entries_->of_node[node];
  return entry == MeasuredEntries::kNone ? nullptr : &measured_.nodes[entry];
}

std::optional<std::int64_t> MeasuredView::of_node(NodeIndex node, std::string_view resource) const {
  const auto column = column_of(resource);
  if (!column) {
    if (resource != api::well_known::kPods) return std::nullopt;
    const auto* const entry = entry_of(node);
    return entry == nullptr ? std::nullopt : std::optional(cluster_.used().get(node, kPodsIndex));
  }
  const std::size_t at = node * known_.size() + *column;
  if (amounts_[at] == kUnknownUsage) return std::nullopt;
  return std::max<std::int64_t>(saturating_add(amounts_[at], correction_[at]), 0);
}

/// Numbers are: measured columns, then "pods", which is counted, then one for all unmeasured resources.
std::size_t MeasuredView::number_of(std::string_view resource) const {
  if (const auto column = column_of(resource)) return *column;
  return known_.size() + (resource == api::well_known::kPods ? 0 : 1);
}

std::optional<std::int64_t> MeasuredView::of_pod_by(std::size_t number, PodIndex pod) const {
  if (number < known_.size()) return of_pod_in(pod, number);
  return number == known_.size() ? std::optional<std::int64_t>(1000) : std::nullopt;
}

std::optional<double> MeasuredView::percent_of(NodeIndex node, std::size_t column, std::int64_t amount) const {
  if (amount == kUnknownUsage) return std::nullopt;
  if (measured_.resources[column].is_percent) return static_cast<double>(amount) / 1000;
  const auto capacity = capacity_of(node, column);
  if (!capacity || *capacity <= 0) return std::nullopt;
  return static_cast<double>(amount) / static_cast<double>(*capacity) * 100;
}

// --- figures of nodes

std::int64_t MeasuredView::picked_from(const MeasuredUsage::Node& node, std::size_t column) const {
  const std::int64_t smoothed = node.now[column];
  const std::size_t columns = known_.size();
  const std::int64_t newest =
      node.samples.size() < columns ? kUnknownUsage : node.samples[node.samples.size() - columns + column];
  if (smoothed == kUnknownUsage || newest == kUnknownUsage) return smoothed;
  switch (options_.figure) {
    case Figure::kSmoothed: return smoothed;
    case Figure::kLower: return std::min(smoothed, newest);
    case Figure::kHigher: return std::max(smoothed, newest);
  }
  std::abort();
}

std::int64_t MeasuredView::figure_of(NodeIndex node, std::size_t column) const {
  const auto* const entry = entry_of(node);
  if (entry == nullptr || !entry->problem.empty() || column >= entry->now.size()) return kUnknownUsage;
  const std::int64_t figure = picked_from(*entry, column);
  return figure == kUnknownUsage ? figure : std::max(figure, foreseen_of(node, column));
}

std::int64_t MeasuredView::foreseen_of(NodeIndex node, std::size_t column) const {
  const auto* const entry = entry_of(node);
  if (!options_.forecast || entry == nullptr || column >= entry->foreseen.size()) return kUnknownUsage;
  const std::int64_t amount = entry->foreseen[column];
  const double common = common_rise_[node * known_.size() + column];
  if (amount == kUnknownUsage || common <= 0) return amount;
  const bool is_percent = measured_.resources[column].is_percent;
  const double whole = is_percent ? kWholeNode : static_cast<double>(capacity_of(node, column).value_or(0));
  return std::max<std::int64_t>(amount - std::llround(whole * common / 100), 0);
}

/// Forecast rise from the current value, in percent of the node. Returns nullopt if unknown.
std::optional<double> MeasuredView::rise_of(NodeIndex node, std::size_t column) const {
  const auto* const entry = entry_of(node);
  if (entry == nullptr || !entry->problem.empty() || column >= entry->now.size()) return std::nullopt;
  if (column >= entry->foreseen.size()) return std::nullopt;
  const auto now = percent_of(node, column, entry->now[column]);
  const auto then = percent_of(node, column, entry->foreseen[column]);
  return now && then ? std::optional(std::max(*then - *now, 0.0)) : std::nullopt;
}

void MeasuredView::compare_forecasts_among(std::span<const NodeIndex> nodes) {
  if (!options_.forecast) return;
  for (std::size_t c = 0; c < known_.size(); ++c) {
    double rises = 0;
    std::size_t count = 0;
    for (const NodeIndex node : nodes) {
      const auto rise = rise_of(node, c);
      rises += rise.value_or(0);
      count += rise ? 1 : 0;
    }
    for (const NodeIndex node : nodes)
      common_rise_[node * known_.size() + c] = rises / static_cast<double>(std::max<std::size_t>(count, 1));
  }
  take_figures();
}

std::optional<std::int64_t> MeasuredView::capacity_of(NodeIndex node, std::size_t column) const {
  if (!known_[column]) return std::nullopt;
  return cluster_.base().allocatable().find(node, *known_[column]);
}

std::int64_t MeasuredView::converted(NodeIndex node, std::size_t column, std::int64_t percent) const {
  const auto capacity = capacity_of(node, column);
  if (!capacity) return kUnknownUsage;
  return scaled(*capacity, static_cast<double>(percent) / static_cast<double>(kWholeNode));
}

void MeasuredView::take_figures() {
  amounts_.assign(cluster_.base().node_count() * known_.size(), kUnknownUsage);
  for (const NodeIndex node : cluster_.base().nodes()) {
    for (std::size_t c = 0; c < known_.size(); ++c)
      amounts_[node * known_.size() + c] = in_units(node, c, figure_of(node, c));
  }
}

// --- corrections

void MeasuredView::add_to(NodeIndex node, std::size_t column, std::int64_t amount) {
  if (node == kNoNode) return;
  std::int64_t& there = correction_[node * known_.size() + column];
  there = saturating_add(there, amount);
}

bool MeasuredView::is_new_on(PodIndex pod, NodeIndex node) const {
  const auto* const entry = node == kNoNode ? nullptr : entry_of(node);
  if (entry == nullptr || has_entry(pod)) return false;
  const api::Pod& object = cluster_.base().pod(pod);
  const auto started = object.start_time.value_or(object.meta.creation_timestamp);
  return started + kWarmUp > entry->time;
}

/// Almost all pods are measured on their current node and need no correction.
void MeasuredView::correct_for_pods() {
  for (const PodIndex pod : entries_->unmeasured) correct_for(pod);
  if (cluster_.changes().empty()) return;  // no pod was moved
  for (const PodIndex pod : cluster_.base().pods()) {
    if (cluster_.node_of(pod) != cluster_.base().node_of(pod) && has_entry(pod)) correct_for(pod);
  }
}

void MeasuredView::correct_for(PodIndex pod) {
  if (!cluster_.base().is_active(pod)) return;
  if (!has_in_node(pod)) return;
  const NodeIndex from = cluster_.base().node_of(pod);
  const NodeIndex to = cluster_.node_of(pod);
  const bool is_new = is_new_on(pod, from);
  if (from == to && !is_new) return;
  for (std::size_t c = 0; c < known_.size(); ++c) {
    if (is_new) {  // no measurement includes the pod, so nothing is subtracted
      add_to(to, c, requested(pod, c));
      continue;
    }
    const std::int64_t amount = of_pod_in(pod, c).value_or(0);
    add_to(from, c, -amount);
    add_to(to, c, amount);
  }
}

/// Replaces the current usage of each pod in its node's value by its mean. Hot path: it visits nearly all pods.
void MeasuredView::correct_for_means() {
  const std::size_t columns = known_.size();
  const std::vector<std::int64_t>& amounts = measured_.pod_amounts.get();
  const std::vector<std::int64_t>& means = measured_.pod_means.get();
  for (const NodeIndex node : cluster_.base().nodes()) {
    for (const PodIndex pod : cluster_.base().pods_on(node)) {
      if (!has_entry(pod) || !cluster_.base().is_active(pod)) continue;
      const std::size_t entry = entries_->of_pod[pod] * columns;
      for (std::size_t c = 0; c < columns; ++c) {
        const std::int64_t now = in_units(node, c, amounts[entry + c]);
        const std::int64_t mean = in_units(node, c, means[entry + c]);
        if (now != kUnknownUsage && mean != kUnknownUsage) add_to(node, c, mean - now);
      }
    }
  }
}

// --- figures of pods

/// Converts a pod's measurement to the view's unit; kUnknownUsage if unknown.
std::int64_t MeasuredView::amount_of(PodIndex pod, std::size_t column, std::int64_t measured) const {
  const NodeIndex node = cluster_.base().node_of(pod);
  return node == kNoNode ? measured : in_units(node, column, measured);
}

std::optional<std::int64_t> MeasuredView::of_pod_in(PodIndex pod, std::size_t column) const {
  if (has_entry(pod)) {
    const std::size_t at = entries_->of_pod[pod] * known_.size() + column;
    const std::int64_t mean = options_.by_means ? amount_of(pod, column, measured_.pod_means[at]) : kUnknownUsage;
    if (mean != kUnknownUsage) return mean;
    if (const std::int64_t used = amount_of(pod, column, measured_.pod_amounts[at]); used != kUnknownUsage) return used;
  }
  if (!options_.corrects) return std::nullopt;
  const NodeIndex node = cluster_.base().node_of(pod);
  const bool knows_pods = !measured_.pods.empty();
  return knows_pods || node == kNoNode || is_new_on(pod, node) ? requested(pod, column) : share_of_node(pod, column);
}

/// Returns 0 for a resource that cannot be requested.
std::int64_t MeasuredView::requested(PodIndex pod, std::size_t column) const {
  if (!known_[column]) return 0;
  return taken_of(cluster_.base().requests(pod), *known_[column]);
}

/// Divides the node's usage by requests of the resource, of cpu if it cannot be requested, or equally if there are no
/// requests.
std::int64_t MeasuredView::share_of_node(PodIndex pod, std::size_t column) const {
  const ClusterSnapshot& base = cluster_.base();
  const NodeIndex node = base.node_of(pod);
  const std::int64_t used = amounts_[node * known_.size() + column];
  if (used == kUnknownUsage) return 0;
  const ResourceIndex resource = known_[column].value_or(kCpuIndex);
  const std::int64_t all = base.used().get(node, resource);
  if (all > 0) {
    const std::int64_t own = scheduling::amount_of(base.requests(pod), resource);
    return scaled(used, static_cast<double>(own) / static_cast<double>(all));
  }
  const std::int64_t pods = base.used().get(node, kPodsIndex) / 1000;
  return pods == 0 ? 0 : used / pods;
}

}  // namespace strategies
