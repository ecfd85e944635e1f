#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "planner/strategies/load/load_table.hpp"
#include "planner/strategies/utilization/measured_view.hpp"
#include "planner/strategies/utilization/usage_args.hpp"

namespace strategies {

/// Load of nodes by one usage source, with hysteresis. Keeps references to the context and the measurement.
class MeasuredLoad {
 public:
  MeasuredLoad(const StrategyContext& context, const MeasuredUsage& measured, const UsageArgs& args,
               std::vector<std::string> resources);
  MeasuredLoad(const MeasuredLoad&) = delete;
  MeasuredLoad& operator=(const MeasuredLoad&) = delete;

  /// See MeasuredView::compare_forecasts_among().
  void compare_forecasts_among(std::span<const NodeIndex> nodes);

  /// Load of nodes as sources: without pods that left recently or are leaving.
  LoadTable giving(std::span<const NodeIndex> nodes) const { return {cluster_, staying_, resources_, nodes}; }
  /// Load of nodes as destinations: with pods that arrived recently.
  LoadTable taking(std::span<const NodeIndex> nodes) const { return {cluster_, higher_, resources_, nodes}; }
  /// Returns the usual load of nodes, by the means of their pods, or nullopt if unknown. The first call may cost a pass
  /// over all pods; call it before pods are moved.
  std::optional<LoadTable> usual(std::span<const NodeIndex> nodes) const;
  /// Usage view of taking().
  const UsageView& taking_usage() const { return higher_; }
  const std::vector<std::string>& resources() const { return resources_; }

  /// Hysteresis: returns whether the newest sample and enough of the last samples satisfy `says`, or the forecast
  /// does. `says` takes percentages by resource. Returns true for a source that keeps no samples; an unknown value
  /// does not satisfy.
  using Says = std::function<bool(std::span<const double> percents)>;
  bool confirms(NodeIndex node, const Says& says) const;

  /// Returns an error if more of `nodes` have no usable measurement than the source tolerates. The message names the
  /// source and up to five of the nodes.
  base::Status check_known(std::span<const NodeIndex> nodes) const;

 private:
  std::optional<double> percentage(NodeIndex node, std::size_t resource, std::span<const std::int64_t> amounts) const;
  bool holds(NodeIndex node, std::span<const std::int64_t> amounts, const Says& says) const;
  bool is_foreseen(NodeIndex node, const Says& says) const;
  std::string complaint_about(NodeIndex node) const;

  const StrategyContext& context_;
  const ClusterSnapshot& cluster_;
  const MeasuredUsage& measured_;
  const UsageArgs args_;
  const std::vector<std::string> resources_;
  MeasuredView lower_;
  MeasuredView higher_;
  UsageWithoutPods staying_;                        ///< lower_ without leaving pods
  mutable std::shared_ptr<const UsageView> usual_;  ///< Set by usual()
};

}  // namespace strategies
