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

/// What was measured for the need. An error names the source and says what is wrong with it: nobody measured it, or
/// nothing of it is usable.
base::Result<const scheduling::MeasuredUsage*> find_measured(const StrategyContext& context,
                                                             const scheduling::UsageNeed& need);

/// Measured usage under the snapshot's numbers. "pods" is counted, not measured, unless the source has it. Percentages
/// of a resource that the node publishes become amounts of it; others keep 100 % as their capacity. Keeps references to
/// what it is made of; sees the moves that the overlay had when it was made. One pass over nodes and pods, and one more
/// where nobody has found their entries before.
class MeasuredView final : public UsageView {
 public:
  /// Which figure of a node counts. The smoothed one lags behind what was moved a moment ago; the newest sample does
  /// not.
  enum class Figure {
    kSmoothed,
    kLower,   ///< of the smoothed one and the newest sample: for nodes that may have to give
    kHigher,  ///< of both: for nodes that are to take
  };
  struct Options {
    Figure figure = Figure::kSmoothed;
    bool forecast = false;  ///< the higher of that and what is foreseen, where that is
    /// Pods that the overlay has moved take their usage along. Pods that nobody measured yet count with their requests:
    /// on their node those that started after its sample or so shortly before that it hardly shows them. Where the
    /// source knows nodes only, pods share what their node uses by their requests. Off: figures as they came.
    bool corrects = true;
    bool has_pod_usage = true;  ///< without `corrects`: is there usage of pods at all
    /// Pods count with their means where these are known, and nodes with those of their pods. REQUIRES: corrects
    bool by_means = false;
  };
  /// Entries of no memo are searched for.
  MeasuredView(const scheduling::MeasuredUsage& measured, const scheduling::WhatIf& cluster, Options options,
               MeasuredEntriesMemo* memo = nullptr);
  /// The same by another figure. Costs a copy, no look-ups.
  MeasuredView by(Figure figure) const;
  /// For nodes of which only the differences matter: what is foreseen of them counts as far as it is above what they
  /// are foreseen to rise by on the mean, in percent of their capacity. Or those with a forecast would look fuller than
  /// those without one by the rise that all have in common.
  void compare_forecasts_among(std::span<const NodeIndex> nodes);

  std::optional<std::int64_t> of_node(NodeIndex node, std::string_view resource) const override;
  std::optional<std::int64_t> of_pod_by(std::size_t number, PodIndex pod) const override;
  std::size_t number_of(std::string_view resource) const override;
  bool has_pod_usage() const override { return options_.corrects || options_.has_pod_usage; }
  bool has_in_node(PodIndex pod) const override;
  bool is_percent(std::string_view resource) const override;

  /// The node's entry; nullptr: the source does not know it.
  const scheduling::MeasuredUsage::Node* entry_of(NodeIndex node) const;
  const scheduling::MeasuredUsage& measured() const { return measured_; }
  /// The place of the resource in MeasuredUsage::resources.
  std::optional<std::size_t> column_of(std::string_view resource) const;
  /// What is foreseen of the node, in MeasuredUsage's unit; kUnknownUsage: nothing.
  std::int64_t foreseen_of(NodeIndex node, std::size_t column) const;
  /// An amount of MeasuredUsage in percent of the node: `amount` of `column`. nullopt: unknown, or no capacity.
  std::optional<double> percent_of(NodeIndex node, std::size_t column, std::int64_t amount) const;

 private:
  void take_figures();
  void correct_for_pods();
  void correct_for(PodIndex pod);
  void correct_for_means();
  void add_to(NodeIndex node, std::size_t column, std::int64_t amount);
  std::int64_t picked_from(const scheduling::MeasuredUsage::Node& node, std::size_t column) const;
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

  const scheduling::MeasuredUsage& measured_;
  const scheduling::WhatIf& cluster_;
  Options options_;
  std::vector<std::optional<scheduling::ResourceIndex>> known_;  ///< by column: the cluster's number of the resource
  std::vector<char> converts_;  ///< by column: percentages of what nodes publish, so that they become amounts
  std::shared_ptr<const MeasuredEntries> entries_;
  std::vector<std::int64_t> amounts_;     ///< by node and column, as they came
  std::vector<double> common_rise_;       ///< the same, in percent: of forecasts it does not count
  std::vector<std::int64_t> correction_;  ///< to be added
};

}  // namespace strategies
