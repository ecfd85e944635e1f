#include "planner/strategies/load/node_pools.hpp"

#include <algorithm>

namespace strategies {
namespace {

std::vector<NodeIndex> nodes_in(const std::vector<PoolNodes>& pools) {
  std::vector<NodeIndex> all;
  for (const PoolNodes& pool : pools) all.insert(all.end(), pool.nodes.begin(), pool.nodes.end());
  return all;
}

/// Returns false if nothing is measured.
bool take_views(BalanceSubject& subject, const StrategyContext& context, const std::optional<UsageNeed>& need,
                bool with_means) {
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

std::vector<PoolNodes> divide_into_pools(const StrategyContext& context, const PoolThresholds& thresholds) {
  std::vector<PoolNodes> divided;
  for (const NodePool& pool : thresholds.pools) divided.push_back({pool.name, &pool.thresholds, {}});
  divided.push_back({"", &thresholds.own, {}});
  for (const NodeIndex node : context.nodes) {
    const auto selects = [&](const NodePool& pool) {
      return !pool.nodes || pool.nodes->matches(context.cluster.base().node(node).meta.labels);
    };
    const auto at = std::ranges::find_if(thresholds.pools, selects) - thresholds.pools.begin();
    divided[static_cast<std::size_t>(at)].nodes.push_back(node);
  }
  if (thresholds.own.high.empty()) divided.pop_back();
  return divided;
}

namespace {

using PoolVisitor =
    std::function<base::Status(const StrategyContext& inside, const PoolNodes& pool, NodeClassification& classes)>;

base::Status for_each_of(const std::vector<PoolNodes>& pools, const StrategyContext& context, NominationSink& sink,
                         const PoolVisitor& each) {
  NodeClassification classes(context, sink);
  for (const PoolNodes& pool : pools) {
    StrategyContext inside = context;
    inside.nodes = pool.nodes;
    if (const base::Status done = each(inside, pool, classes); !done) return done;
  }
  classes.add_nodes_in_no_pool(nodes_in(pools));
  classes.report();
  return base::Done{};
}

}  // namespace

base::Status for_each_pool(const StrategyContext& context, NominationSink& sink, const PoolThresholds& thresholds,
                           const std::function<base::Status(const StrategyContext& inside, const PoolNodes& pool,
                                                            NodeClassification& classes)>& each) {
  return for_each_of(divide_into_pools(context, thresholds), context, sink, each);
}

base::Status for_each_pool_by_load(
    const StrategyContext& context, NominationSink& sink, const UsageArgs& usage, const PoolThresholds& thresholds,
    const std::function<void(const MeasuredLoad& load, const PoolNodes& pool, NodeClassification& classes)>& each) {
  const auto measured = find_measured(context, usage.need);
  if (!measured) return measured.error();
  MeasuredLoad load(context, **measured, usage, thresholds.resources());
  const std::vector<PoolNodes> pools = divide_into_pools(context, thresholds);
  if (const base::Status known = load.check_known(nodes_in(pools)); !known) return known;
  for (const PoolNodes& pool : pools) {
    if (pool.thresholds->use_deviation) load.compare_forecasts_among(pool.nodes);
  }
  return for_each_of(pools, context, sink,
                     [&](const StrategyContext&, const PoolNodes& pool, NodeClassification& classes) {
                       each(load, pool, classes);
                       return base::Done{};
                     });
}

std::optional<BalanceSubject> subject_of(const StrategyContext& context, const std::optional<UsageNeed>& need,
                                         const PoolThresholds& thresholds, bool with_means) {
  BalanceSubject subject;
  if (!take_views(subject, context, need, with_means)) return std::nullopt;
  subject.by_load = need.has_value();
  subject.resources = thresholds.resources();
  for (PoolNodes& pool : divide_into_pools(context, thresholds)) subject.pools.push_back({std::move(pool.nodes), {}});
  return subject;
}

}  // namespace strategies
