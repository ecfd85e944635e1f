#include "strategies/load/balance_subject.hpp"

#include "strategies/load/node_pools.hpp"
#include "strategies/utilization/measured_view.hpp"

namespace strategies {
namespace {

std::shared_ptr<const UsageView> view_of(const StrategyContext& context,
                                         const std::optional<scheduling::UsageNeed>& need) {
  if (!need) return std::make_shared<const RequestedUsage>(context.cluster);
  const auto measured = find_measured(context, *need);
  if (!measured) return nullptr;
  return std::make_shared<const MeasuredView>(**measured, context.cluster, MeasuredView::Options{},
                                              context.measured_entries);
}

}  // namespace

std::optional<BalanceSubject> subject_of(const StrategyContext& context,
                                         const std::optional<scheduling::UsageNeed>& need,
                                         const std::vector<NodePool>& pools, const Thresholds& own) {
  BalanceSubject subject;
  subject.usage = view_of(context, need);
  if (!subject.usage) return std::nullopt;
  subject.by_load = need.has_value();
  subject.resources = resources_of(pools, own);
  for (PoolNodes& pool : divide_into_pools(context.cluster.base(), context.nodes, pools, own))
    subject.pools.push_back({std::move(pool.nodes), {}});
  return subject;
}

}  // namespace strategies
