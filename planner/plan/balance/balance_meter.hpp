#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/policy/convergence.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/strategies/load/load_table.hpp"
#include "planner/strategies/strategy.hpp"

namespace planner {

/// Measures the effect of the moves of one balance strategy: how uneven its nodes are before and after them, and
/// whether each move is worth its disruption. Nodes without known load are ignored.
class BalanceMeter {
 public:
  BalanceMeter(const scheduling::ClusterSnapshot& cluster, strategies::BalanceSubject subject);

  /// See BalanceSubject::by_load.
  bool is_by_load() const { return subject_.by_load; }

  /// Benefit of a move per disruption, 0 … 100. The benefit is the reduction of the sum of squared distances of both
  /// nodes, in all resources, from the mean of their pool, or from the target for strategies that pack. It saturates:
  /// 100 points², for example 10 points of load moved from a node 10 above to one 10 below, close half of the gap to
  /// 100. If BalanceSubject::means is set, current measurements have a weight of one quarter and the means the rest.
  /// The benefit is divided by strategies::move_cost(). For strategies that empty nodes, it is 100 per node, divided by
  /// strategies::emptying_cost().
  double score(scheduling::PodIndex pod, scheduling::NodeIndex from, std::optional<scheduling::NodeIndex> to) const;
  /// Applies the move to the measured load. Call with `from` and `to` exchanged to undo it.
  void move(scheduling::PodIndex pod, scheduling::NodeIndex from, scheduling::NodeIndex to) {
    now_.load.move(pod, from, to);
    if (means_) means_->load.move(pod, from, to);
  }

  /// Returns one row per resource, sorted by resource, with an empty state.
  std::vector<api::BalanceRow> rows(std::string_view strategy) const;

 private:
  static constexpr std::size_t kNoPool = static_cast<std::size_t>(-1);

  using Middle = std::vector<std::vector<double>>;  ///< indexed by pool and resource: the mean, or the target
  /// Load of nodes, and the load that each pool aims for.
  struct Scale {
    strategies::LoadTable load;
    Middle middle;
  };

  /// Returns true if the strategy empties nodes of this pool when their load is low.
  bool empties(scheduling::NodeIndex node) const {
    return pool_of_[node] != kNoPool && !subject_.pools[pool_of_[node]].emptied_up_to.empty();
  }
  bool is_emptied(const strategies::LoadTable& load, scheduling::NodeIndex node) const;
  Scale scale_of(strategies::LoadTable load) const;
  double distance(scheduling::NodeIndex node, double percent, double middle) const;
  double benefit(scheduling::PodIndex pod, scheduling::NodeIndex from, std::optional<scheduling::NodeIndex> to) const;
  double cost(scheduling::PodIndex pod, scheduling::NodeIndex from) const;
  double gain_by(const Scale& scale, scheduling::PodIndex pod, scheduling::NodeIndex from,
                 std::optional<scheduling::NodeIndex> to) const;
  double gain_on(const Scale& scale, std::size_t resource, scheduling::NodeIndex node, std::int64_t amount) const;
  api::Imbalance imbalance(const strategies::LoadTable& load, std::size_t resource) const;

  const scheduling::ClusterSnapshot& cluster_;
  const strategies::BalanceSubject subject_;
  const strategies::LoadTable before_;
  std::vector<std::size_t> pool_of_;      ///< indexed by node
  Scale now_;                             ///< with the recorded moves applied; `middle` remains that of before_
  std::optional<Scale> means_;            ///< same as now_, but for typical usage
  mutable std::vector<double> emptying_;  ///< indexed by node: cached emptying_cost(), 0 if not computed
};

}  // namespace planner
