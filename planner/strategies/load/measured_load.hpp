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

/// What one source says about how full nodes are, and how sure that is. Keeps references to the context and the usage.
class MeasuredLoad {
 public:
  MeasuredLoad(const StrategyContext& context, const scheduling::MeasuredUsage& measured, const UsageArgs& args,
               std::vector<std::string> resources);
  MeasuredLoad(const MeasuredLoad&) = delete;
  MeasuredLoad& operator=(const MeasuredLoad&) = delete;

  /// See MeasuredView.
  void compare_forecasts_among(std::span<const NodeIndex> nodes);

  /// The load that nodes are relieved by: not what left them a moment ago, or is on its way out.
  LoadTable giving(std::span<const NodeIndex> nodes) const { return {cluster_, staying_, resources_, nodes}; }
  /// The load that nodes are filled by: with what came a moment ago.
  LoadTable taking(std::span<const NodeIndex> nodes) const { return {cluster_, higher_, resources_, nodes}; }
  /// Makes usual() known, where somebody keeps means: it takes a walk through all pods.
  void take_means(const StrategyContext& context);
  /// The load that nodes have usually, by the means of their pods; nullopt: not known.
  std::optional<LoadTable> usual(std::span<const NodeIndex> nodes) const;
  const UsageView& usage() const { return lower_; }
  /// Whose figures taking() has.
  const UsageView& taking_usage() const { return higher_; }
  const std::vector<std::string>& resources() const { return resources_; }

  /// Hysteresis: the newest sample and enough of the last ones say so, or the forecast does. `says` takes percentages
  /// by resource. A source that keeps no samples is believed at once; an unknown figure says nothing.
  using Says = std::function<bool(std::span<const double> percents)>;
  bool confirms(NodeIndex node, const Says& says) const;

  /// Fails when more of `nodes` than the source may miss have no usable figure: the message names the source and up to
  /// five of them.
  base::Status check_known(std::span<const NodeIndex> nodes) const;

 private:
  std::optional<double> percentage(NodeIndex node, std::size_t resource, std::span<const std::int64_t> amounts) const;
  bool holds(NodeIndex node, std::span<const std::int64_t> amounts, const Says& says) const;
  bool is_foreseen(NodeIndex node, const Says& says) const;
  std::string complaint_about(NodeIndex node) const;

  const scheduling::ClusterSnapshot& cluster_;
  const scheduling::MeasuredUsage& measured_;
  const UsageArgs args_;
  const std::vector<std::string> resources_;
  MeasuredView lower_;
  MeasuredView higher_;
  UsageWithoutPods staying_;                ///< lower_ without pods that are on their way out
  std::shared_ptr<const UsageView> usual_;  ///< nullptr: not known
};

}  // namespace strategies
