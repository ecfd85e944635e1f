#include "strategies/utilization/low_node_utilization.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "strategies/load/balance_subject.hpp"
#include "strategies/load/level_load.hpp"
#include "strategies/utilization/measured_view.hpp"
#include "strategies/utilization/move_pods.hpp"
#include "strategies/utilization/move_pods_upstream.hpp"
#include "strategies/utilization/node_usage.hpp"

namespace strategies {
namespace {

/// Percent below which a node counts as under, above which as over, per threshold resource.
struct Band {
  std::vector<double> low;
  std::vector<double> high;
};

double clamp_percent(double percent) { return std::clamp(percent, 0.0, 100.0); }

/// Mean over the nodes that publish the resource.
double mean_percent(const std::vector<NodeUsage>& nodes, std::size_t resource, std::string_view name) {
  double sum = 0;
  int publishing = 0;
  for (const NodeUsage& node : nodes) {
    const auto percent = node.percent(resource, name);
    if (!percent) continue;
    sum += *percent;
    ++publishing;
  }
  return publishing == 0 ? 0 : sum / publishing;
}

Band band_of(const Thresholds& thresholds, const std::vector<NodeUsage>& nodes) {
  Band band;
  for (std::size_t r = 0; r < thresholds.low.size(); ++r) {
    const double low = thresholds.low[r].second;
    const double high = thresholds.high[r].second;
    if (!thresholds.use_deviation) {
      band.low.push_back(low);
      band.high.push_back(high);
      continue;
    }
    const double mean = mean_percent(nodes, r, thresholds.low[r].first);
    band.low.push_back(clamp_percent(mean - low));
    band.high.push_back(clamp_percent(mean + high));
  }
  return band;
}

bool is_under(const NodeUsage& node, const Band& band, const std::vector<std::string>& resources) {
  for (std::size_t r = 0; r < band.low.size(); ++r) {
    if (node.percent(r, resources[r]).value_or(0) > band.low[r]) return false;
  }
  return true;
}

/// The first resource above its target.
std::optional<std::size_t> resource_over(const NodeUsage& node, const Band& band,
                                         const std::vector<std::string>& resources) {
  for (std::size_t r = 0; r < band.high.size(); ++r) {
    if (node.percent(r, resources[r]).value_or(0) > band.high[r]) return r;
  }
  return std::nullopt;
}

std::string describe_overuse(const NodeUsage& node, const Band& band, const std::vector<std::string>& resources) {
  const auto r = resource_over(node, band, resources);
  if (!r) return "its node is overutilized";
  return fmt::format("its node is overutilized: {} {:.1f} % of allocatable, target {:.4g} %", resources[*r],
                     node.percent(*r, resources[*r]).value_or(0), band.high[*r]);
}

}  // namespace

LowNodeUtilization::Args LowNodeUtilization::Args::read(api::StrictObject& args) {
  Args parsed;
  parsed.metrics = read_metrics_utilization(args);
  parsed.usage = read_usage(args);
  if (parsed.metrics && parsed.usage) args.complain("usage", "does not go with metricsUtilization");
  const ResourceRule rule = resource_rule_of(parsed.usage ? std::optional(parsed.usage->need) : parsed.metrics);
  const std::size_t before = args.errors().size();
  parsed.pools = read_node_pools(
      args, [&](api::StrictObject& entry, NodePool& pool) { pool.thresholds = read_thresholds(entry, rule); });
  const bool has_own = args.find("thresholds") != nullptr || args.find("targetThresholds") != nullptr;
  if (has_own || parsed.pools.empty()) {
    parsed.thresholds = read_thresholds(args, rule);
  } else if (args.find("useDeviationThresholds") != nullptr) {
    args.complain("useDeviationThresholds", "does nothing without thresholds: set it in nodePools");
  }
  if (args.errors().size() == before) check_pool_resources(args, parsed.pools, parsed.thresholds);
  parsed.number_of_nodes = read_number_of_nodes(args);
  parsed.excluded_namespaces = read_excluded_namespaces(args);
  args.with("evictionLimits", [&](api::StrictObject& limits) { limits.read("node", parsed.evictions_per_node); });
  return parsed;
}

std::vector<scheduling::UsageNeed> LowNodeUtilization::usage_needs() const {
  if (args_.usage) return {args_.usage->need};
  return args_.metrics ? std::vector{*args_.metrics} : std::vector<scheduling::UsageNeed>{};
}

std::optional<UsageArgs> LowNodeUtilization::measured_by(const StrategyContext& context) const {
  if (args_.usage || !args_.metrics || context.is_upstream()) return args_.usage;
  UsageArgs usage;
  usage.need = *args_.metrics;
  return usage;
}

/// A query says nothing about other resources.
std::vector<std::string> LowNodeUtilization::tracked(const Thresholds& thresholds) const {
  const bool by_query = args_.metrics && !args_.metrics->query.empty();
  return by_query ? std::vector<std::string>{scheduling::kMetricResource} : tracked_resources(thresholds.low);
}

std::optional<BalanceSubject> LowNodeUtilization::balances(const StrategyContext& context) const {
  return subject_of(context, args_.usage ? std::optional(args_.usage->need) : args_.metrics, args_.pools,
                    args_.thresholds);
}

base::Status LowNodeUtilization::nominate(const StrategyContext& context, NominationSink& sink) const {
  if (const auto usage = measured_by(context)) return level(context, sink, *usage);
  if (!args_.metrics) {
    const RequestedUsage by_requests(context.cluster);
    return balance_pools(context, sink, context.usage != nullptr ? *context.usage : by_requests);
  }
  const auto measured = find_measured(context, *args_.metrics);
  if (!measured) return measured.error();
  const MeasuredView usage(**measured, context.cluster,
                           {.corrects = false, .has_pod_usage = args_.metrics->metrics_server},
                           context.measured_entries);
  return balance_pools(context, sink, usage);
}

base::Status LowNodeUtilization::level(const StrategyContext& context, NominationSink& sink,
                                       const UsageArgs& usage) const {
  const auto measured = find_measured(context, usage.need);
  if (!measured) return measured.error();
  MeasuredLoad load(context, **measured, usage, resources_of(args_.pools, args_.thresholds));
  const auto pools = divide_into_pools(context.cluster.base(), context.nodes, args_.pools, args_.thresholds);
  if (const base::Status known = load.check_known(nodes_in(pools)); !known) return known;
  load.take_means(context);
  for (const PoolNodes& pool : pools) {
    if (pool.thresholds->use_deviation) load.compare_forecasts_among(pool.nodes);
  }
  for (const PoolNodes& pool : pools)
    level_load(context, sink, load, pool,
               {args_.number_of_nodes, args_.excluded_namespaces, args_.evictions_per_node, usage.soft_taint});
  return base::Done{};
}

base::Status LowNodeUtilization::balance_pools(const StrategyContext& context, NominationSink& sink,
                                               const UsageView& usage) const {
  if (args_.pools.empty()) return balance(context, sink, usage, args_.thresholds);
  for (const PoolNodes& pool :
       divide_into_pools(context.cluster.base(), context.nodes, args_.pools, args_.thresholds)) {
    StrategyContext inside = context;
    inside.nodes = pool.nodes;
    if (const base::Status done = balance(inside, sink, usage, *pool.thresholds); !done) return done;
  }
  return base::Done{};
}

base::Status LowNodeUtilization::balance(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                                         const Thresholds& thresholds) const {
  const std::vector<std::string> resources = tracked(thresholds);
  const auto nodes = measure(context.cluster, context.nodes, usage, resources);
  if (!nodes) return nodes.error();

  const Band band = band_of(thresholds, *nodes);
  MoveRules rules;
  for (const NodeUsage& node : *nodes) {
    const bool cordoned = context.cluster.base().node(node.node).unschedulable;
    if (!cordoned && is_under(node, band, resources)) {
      rules.destinations.push_back(node);
    } else if (resource_over(node, band, resources)) {
      rules.sources.push_back(node);
    }
  }
  const std::size_t under = rules.destinations.size();
  const bool too_few = under == 0 || under <= static_cast<std::size_t>(std::max(args_.number_of_nodes, 0));
  if (too_few || under == nodes->size() || rules.sources.empty()) return base::Done{};

  rules.target_percent.assign(band.high.begin(), band.high.end());
  rules.target_percent.resize(resources.size());
  rules.excluded_namespaces = args_.excluded_namespaces;
  rules.evictions_per_node = args_.evictions_per_node;
  rules.reason = [&](const NodeUsage& node) { return describe_overuse(node, band, resources); };
  if (context.is_upstream()) {
    relieve_upstream(context, sink, usage, resources, std::move(rules));
  } else {
    relieve(context, sink, usage, resources, thresholds.low.size(), std::move(rules));
  }
  return base::Done{};
}

/// The fullest node first.
void LowNodeUtilization::relieve(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                                 const std::vector<std::string>& resources, std::size_t thresholds,
                                 MoveRules rules) const {
  std::ranges::stable_sort(rules.sources, std::ranges::greater{},
                           [&](const NodeUsage& node) { return mean_fullness(node, resources); });
  move_pods(context, sink, usage, resources, thresholds, std::move(rules));
}

/// Upstream adds millicores to bytes, so that memory alone decides who goes first.
void LowNodeUtilization::relieve_upstream(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                                          const std::vector<std::string>& resources, MoveRules rules) const {
  std::ranges::stable_sort(rules.sources, std::ranges::greater{},
                           [&](const NodeUsage& node) { return node.raw_sum(resources); });
  move_pods_upstream(context, sink, usage, resources, std::move(rules));
}

}  // namespace strategies
