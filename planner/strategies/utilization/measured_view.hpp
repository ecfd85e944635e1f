#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "planner/strategies/load/measured_entries.hpp"
#include "planner/strategies/strategy.hpp"
#include "planner/strategies/utilization/usage_view.hpp"

namespace strategies {

/// Returns the measurements for the need. The error names the source and the problem: it was not measured, or nothing
/// of it is usable.
base::Result<const MeasuredUsage*> find_measured(const StrategyContext& context, const UsageNeed& need);

/// Measured usage by the snapshot's indexes. "pods" is counted, not measured, unless the source provides it.
/// Percentages of a resource that the node publishes are converted to amounts; others keep 100 % as their capacity.
/// Keeps references to its arguments, and reflects the moves in `cluster` at construction. Makes one pass over nodes
/// and pods, plus one if the memo does not have their entries yet.
class MeasuredView final : public UsageView {
 public:
  /// Value used for a node. The smoothed value lags behind recent moves; the newest sample does not.
  enum class Figure {
    kSmoothed,
    kLower,   ///< Lower of smoothed value and newest sample, for possible source nodes
    kHigher,  ///< Higher of both, for destination nodes
  };
  struct Options {
    Figure figure = Figure::kSmoothed;
    bool forecast = false;  ///< Use the higher of that and the forecast, where one exists
    /// Correct the measurements. Pods moved in the WhatIf take their usage along. Unmeasured pods count with their
    /// requests if they started after their node's sample or too shortly before it to show. If the source knows only
    /// nodes, pods share their node's usage in proportion to their requests. If false, measurements are used as they
    /// are.
    bool corrects = true;
    bool has_pod_usage = true;  ///< Without `corrects`: whether usage of pods is known
    /// Use the mean usage of pods where known, for nodes as well. REQUIRES: corrects
    bool by_means = false;
  };
  /// Without a memo, entries are looked up again.
  MeasuredView(const MeasuredUsage& measured, const WhatIf& cluster, Options options,
               MeasuredEntriesMemo* memo = nullptr);
  /// Returns a view with another figure. Costs a copy, without look-ups.
  MeasuredView by(Figure figure) const;
  /// For comparing nodes: reduces each node's forecast by the mean forecast rise of `nodes`, in percent of capacity.
  /// Without this, nodes with a forecast would look fuller than nodes without one by the rise that all nodes have in
  /// common.
  void compare_forecasts_among(std::span<const NodeIndex> nodes);

  std::optional<std::int64_t> of_node(NodeIndex node, std::string_view resource) const override;
  std::optional<std::int64_t> of_pod_by(std::size_t number, PodIndex pod) const override;
  std::size_t number_of(std::string_view resource) const override;
  bool has_pod_usage() const override { return options_.corrects || options_.has_pod_usage; }
  bool has_in_node(PodIndex pod) const override;
  bool is_percent(std::string_view resource) const override;

  /// Returns the node's measurements, or nullptr if the source does not know the node.
  const MeasuredUsage::Node* entry_of(NodeIndex node) const;
  const MeasuredUsage& measured() const { return measured_; }
  /// Returns the index of the resource in MeasuredUsage::resources.
  std::optional<std::size_t> column_of(std::string_view resource) const;
  /// Returns the node's forecast in MeasuredUsage's unit, or kUnknownUsage.
  std::int64_t foreseen_of(NodeIndex node, std::size_t column) const;
  /// Converts an amount of MeasuredUsage to percent of the node. Returns nullopt if it or the capacity is unknown.
  std::optional<double> percent_of(NodeIndex node, std::size_t column, std::int64_t amount) const;

 private:
  void take_figures();
  void correct_for_pods();
  void correct_for(PodIndex pod);
  void correct_for_means();
  void add_to(NodeIndex node, std::size_t column, std::int64_t amount);
  std::int64_t picked_from(const MeasuredUsage::Node& node, std::size_t column) const;
  bool is_new_on(PodIndex pod, NodeIndex node) const;
  bool has_entry(PodIndex pod) const { return entries_->of_pod[pod] != MeasuredEntries::kNone; }
  std::int64_t figure_of(NodeIndex node, std::size_t column) const;
  std::optional<double> rise_of(NodeIndex node, std::size_t column) const;
  std::int64_t in_units(NodeIndex node, std::size_t column, std::int64_t amount) const {
    return converts_[column] == 0 || amount == scheduling::kUnknownUsage ? amount : converted(node, column, amount);
  }
  std::int64_t converted(NodeIndex node, std::size_t column, std::int64_t percent) const;
  std::optional<std::int64_t> capacity_of(NodeIndex node, std::size_t column) const;
  std::optional<std::int64_t> of_pod_in(PodIndex pod, std::size_t column) const;
  std::int64_t amount_of(PodIndex pod, std::size_t column, std::int64_t measured) const;
  std::int64_t requested(PodIndex pod, std::size_t column) const;
  std::int64_t share_of_node(PodIndex pod, std::size_t column) const;

  const MeasuredUsage& measured_;
  const WhatIf& cluster_;
  Options options_;
  std::vector<std::optional<ResourceIndex>> known_;  ///< By column: the snapshot's index of the resource
  std::vector<char> converts_;                       ///< By column: whether percentages are converted to amounts
  std::shared_ptr<const MeasuredEntries> entries_;
  std::vector<std::int64_t> amounts_;     ///< By node and column, uncorrected
  std::vector<double> common_rise_;       ///< By node and column, in percent: part of the forecast that is not counted
  std::vector<std::int64_t> correction_;  ///< By node and column: added to amounts_
};

}  // namespace strategies
