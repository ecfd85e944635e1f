#include "planner/strategies/load/balance_subject.hpp"

#include "planner/strategies/load/node_pools.hpp"
#include "planner/strategies/utilization/measured_view.hpp"

namespace strategies {
namespace {

/// Returns false if nothing is measured.
bool take_views(BalanceSubject& subject, const StrategyContext& context,
                const std::optional<scheduling::UsageNeed>& need, bool with_means) {
  if (!need) {
    subject.usage = std::make_shared<const RequestedUsage>(context.cluster);
    return true;
  }
  const auto measured = find_measured(context, *need);
  if (!measured) return false;
  const auto view = [&](bool by_means) {
    return std::make_shared<const MeasuredView>(**measured, context.cluster,
                                                MeasuredView::Options{.by_means = by_means}, context.measured_entries);
  };
  subject.usage = view(false);
  if (with_means && !(*measured)->pod_means.empty()) subject.means = view(true);
  return true;
}

}  // namespace

std::optional<BalanceSubject> subject_of(const StrategyContext& context,
                                         const std::optional<scheduling::UsageNeed>& need,
                                         const std::vector<NodePool>& pools, const Thresholds& own, bool with_means) {
  BalanceSubject subject;
  if (!take_views(subject, context, need, with_means)) return std::nullopt;
  subject.by_load = need.has_value();
  subject.resources = resources_of(pools, own);
  for (PoolNodes& pool : divide_into_pools(context.cluster.base(), context.nodes, pools, own))
    subject.pools.push_back({std::move(pool.nodes), {}});
  return subject;
}

}  // namespace strategies
