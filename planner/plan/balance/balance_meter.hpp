#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/policy/convergence.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/strategies/load/load_table.hpp"
#include "planner/strategies/strategy.hpp"

namespace planning {

/// Measures what the moves of one balance strategy are good for: how uneven its nodes are before and after them, and
/// whether each is worth its disruption. Nodes whose load is not known do not count.
class BalanceMeter {
 public:
  BalanceMeter(const scheduling::ClusterSnapshot& cluster, strategies::BalanceSubject subject);

  /// See BalanceSubject::by_load.
  bool is_by_load() const { return subject_.by_load; }

  /// 0 … 100: benefit for disruption. The benefit is by how much the move lessens the sum of the squared distances of
  /// its two nodes from the mean of their pool (from the target, for a strategy that packs), in all resources; 100
  /// points², such as 10 points of load moved off a node that is 10 above to one that is 10 below, halve the distance
  /// to 100. Where BalanceSubject::means are known, a quarter of it is by what is measured now, and the rest is by
  /// them. It is divided by strategies::move_cost(). Of a strategy that empties nodes: 100 for the node, divided by
  /// strategies::emptying_cost().
  double score(scheduling::PodIndex pod, scheduling::NodeIndex from, std::optional<scheduling::NodeIndex> to) const;
  /// Counts the move. Called with `from` and `to` exchanged it takes it back.
  void move(scheduling::PodIndex pod, scheduling::NodeIndex from, scheduling::NodeIndex to) {
    now_.load.move(pod, from, to);
    if (means_) means_->load.move(pod, from, to);
  }

  /// One for each resource, sorted by it, without a state.
  std::vector<api::BalanceRow> rows(std::string_view strategy) const;

 private:
  static constexpr std::size_t kNoPool = static_cast<std::size_t>(-1);

  using Middle = std::vector<std::vector<double>>;  ///< by pool and resource: the mean, or the target
  /// How full nodes are, and where they would best be.
  struct Scale {
    strategies::LoadTable load;
    Middle middle;
  };

  /// The node is of a pool whose nodes are to be emptied when there is little on them.
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
  std::vector<std::size_t> pool_of_;      ///< by node
  Scale now_;                             ///< with the moves that were counted; its middle is of before_
  std::optional<Scale> means_;            ///< the same by what pods use usually
  mutable std::vector<double> emptying_;  ///< by node: emptying_cost(), 0 before it was asked for
};

}  // namespace planning
