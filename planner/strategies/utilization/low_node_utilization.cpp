#include "planner/strategies/utilization/low_node_utilization.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "planner/strategies/load/balance_subject.hpp"
#include "planner/strategies/load/level_load.hpp"
#include "planner/strategies/utilization/measured_view.hpp"
#include "planner/strategies/utilization/move_pods.hpp"

namespace strategies {
namespace {

/// Per threshold resource: percentages at or below which a node is underutilized, and above which it is overutilized.
struct Band {
  std::vector<double> low;
  std::vector<double> high;
};

double clamp_percent(double percent) { return std::clamp(percent, 0.0, 100.0); }

/// Mean over the nodes that publish the resource. Upstream includes nodes that publish 0 of it.
double mean_percent(const std::vector<NodeUsage>& nodes, std::size_t resource, std::string_view name,
                    bool as_upstream) {
  double sum = 0;
  int publishing = 0;
  for (const NodeUsage& node : nodes) {
    const auto percent = node.percent(resource, name);
    if (!percent || (!as_upstream && !node.publishes(resource))) continue;
    sum += *percent;
    ++publishing;
  }
  return publishing == 0 ? 0 : sum / publishing;
}

Band band_of(const Thresholds& thresholds, const std::vector<NodeUsage>& nodes, bool as_upstream) {
  Band band;
  for (std::size_t r = 0; r < thresholds.low.size(); ++r) {
    const double low = thresholds.low[r].second;
    const double high = thresholds.high[r].second;
    if (!thresholds.use_deviation) {
      band.low.push_back(low);
      band.high.push_back(high);
      continue;
    }
    const double mean = mean_percent(nodes, r, thresholds.low[r].first, as_upstream);
    band.low.push_back(clamp_percent(mean - low));
    band.high.push_back(clamp_percent(mean + high));
  }
  return band;
}

std::string describe_overuse(const NodeUsage& node, const Band& band, const std::vector<std::string>& resources) {
  const auto r = resource_above(node, band.high, resources);
  if (!r) return "its node is overutilized";
  return fmt::format("its node is overutilized: {}, target {:.4g} %", describe_share(node, *r, resources[*r]),
                     band.high[*r]);
}

/// Usage of a node as a source, without leaving pods, and as a destination.
struct NodeStates {
  NodeUsage giving;
  NodeUsage taking;
};

api::NodeClass class_of(const NodeStates& node, const Band& band, const std::vector<std::string>& resources,
                        bool as_upstream) {
  using enum api::NodeClass;
  if (!as_upstream && !is_in_scope(node.taking, band.low.size())) return kOutOfScope;
  if (!resource_above(node.taking, band.low, resources)) return kUnderutilized;
  return resource_above(node.giving, band.high, resources) ? kOverutilized : kAppropriate;
}

/// Describes the threshold that decides the node's class.
std::string describe_class(const NodeStates& node, api::NodeClass node_class, const Band& band,
                           const std::vector<std::string>& resources) {
  if (node_class == api::NodeClass::kOutOfScope)
    return "without " + describe_unpublished(node.taking, resources, band.low.size());
  if (node_class == api::NodeClass::kOverutilized)
    return describe_against(node.giving, band.high, resources, "targetThresholds");
  std::string text = describe_against(node.taking, band.low, resources, "thresholds");
  const auto over = resource_above(node.taking, band.high, resources);
  if (!over) return text;
  return text + fmt::format("; without the pods that are leaving it {}, not above targetThresholds {:.4g} %",
                            describe_share(node.giving, *over, resources[*over]), band.high[*over]);
}

}  // namespace

LowNodeUtilization::Args LowNodeUtilization::Args::read(api::StrictObject& args) {
  Args parsed;
  parsed.metrics = read_metrics_utilization(args);
  parsed.usage = read_usage(args);
  if (parsed.metrics && parsed.usage) args.complain("usage", "cannot be combined with metricsUtilization");
  const ResourceRule rule = resource_rule_of(parsed.usage ? std::optional(parsed.usage->need) : parsed.metrics);
  const std::size_t before = args.errors().size();
  parsed.pools = read_node_pools(
      args, [&](api::StrictObject& entry, NodePool& pool) { pool.thresholds = read_thresholds(entry, rule); });
  const bool has_own = args.find("thresholds") != nullptr || args.find("targetThresholds") != nullptr;
  if (has_own || parsed.pools.empty()) {
    parsed.thresholds = read_thresholds(args, rule);
  } else if (args.find("useDeviationThresholds") != nullptr) {
    args.complain("useDeviationThresholds", "has no effect without thresholds: set it in nodePools");
  }
  if (args.errors().size() == before) check_pool_resources(args, parsed.pools, parsed.thresholds);
  parsed.number_of_nodes = read_number_of_nodes(args);
  parsed.excluded_namespaces = read_excluded_namespaces(args);
  args.with("evictionLimits", [&](api::StrictObject& limits) { limits.read("node", parsed.evictions_per_node); });
  return parsed;
}

StrategyNeeds LowNodeUtilization::needs() const {
  StrategyNeeds needs;
  if (args_.usage) {
    needs.usage.push_back(args_.usage->need);
    if (args_.usage->soft_taint) needs.soft_taint = api::well_known::kLoadedTaint;
  } else if (args_.metrics) {
    needs.usage.push_back(*args_.metrics);
  }
  return needs;
}

std::optional<UsageArgs> LowNodeUtilization::measured_by(const StrategyContext& context) const {
  if (args_.usage || !args_.metrics || context.is_upstream()) return args_.usage;
  UsageArgs usage;
  usage.need = *args_.metrics;
  return usage;
}

/// A custom query provides no other resources.
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
  NodeClassification classes(context, sink);
  for (const PoolNodes& pool : pools)
    level_load(context, sink, load, pool,
               {args_.number_of_nodes, args_.excluded_namespaces, args_.evictions_per_node, usage.soft_taint}, classes);
  classes.add_nodes_in_no_pool(nodes_in(pools));
  classes.report();
  return base::Done{};
}

base::Status LowNodeUtilization::balance_pools(const StrategyContext& context, NominationSink& sink,
                                               const UsageView& usage) const {
  NodeClassification classes(context, sink);
  const auto pools = divide_into_pools(context.cluster.base(), context.nodes, args_.pools, args_.thresholds);
  for (const PoolNodes& pool : pools) {
    StrategyContext inside = context;
    inside.nodes = pool.nodes;
    if (const base::Status done = balance(inside, sink, usage, pool, classes); !done) return done;
  }
  classes.add_nodes_in_no_pool(nodes_in(pools));
  classes.report();
  return base::Done{};
}

base::Status LowNodeUtilization::balance(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                                         const PoolNodes& pool, NodeClassification& classes) const {
  const Thresholds& thresholds = *pool.thresholds;
  const std::vector<std::string> resources = tracked(thresholds);
  const auto nodes = measure(context.cluster, context.nodes, usage, resources);
  if (!nodes) return nodes.error();
  const UsageWithoutPods staying(usage, context.cluster, is_leaving);
  const auto left = context.is_upstream() ? nodes : measure(context.cluster, context.nodes, staying, resources);
  if (!left) return left.error();

  const Band band = band_of(thresholds, *left, context.is_upstream());
  MoveRules rules;
  std::size_t judged = 0;
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    const NodeStates node{(*left)[i], (*nodes)[i]};
    const api::NodeClass node_class = class_of(node, band, resources, context.is_upstream());
    classes.add(node.taking.node, node_class, [&] { return describe_class(node, node_class, band, resources); });
    judged += node_class == api::NodeClass::kOutOfScope ? 0 : 1;
    const bool cordoned = context.cluster.base().node(node.taking.node).unschedulable;
    if (node_class == api::NodeClass::kUnderutilized && !cordoned) {
      rules.destinations.push_back(node.taking);
    } else if (resource_above(node.giving, band.high, resources)) {
      rules.sources.push_back(node.giving);
    }
  }
  const std::string idle = why_idle(rules, judged, classes);
  classes.note(pool.name, idle);
  if (!idle.empty()) return base::Done{};

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

std::string LowNodeUtilization::why_idle(const MoveRules& rules, std::size_t judged,
                                         const NodeClassification& classes) const {
  const std::size_t under = rules.destinations.size();
  if (judged == 0) return "no node publishes a resource that has thresholds";
  if (under == 0 || under <= static_cast<std::size_t>(std::max(args_.number_of_nodes, 0)))
    return describe_too_few(under, args_.number_of_nodes, classes);
  if (under == judged) return "all nodes are underutilized";
  return rules.sources.empty() ? "no node is overutilized" : "";
}

/// Relieves the fullest node first.
void LowNodeUtilization::relieve(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                                 const std::vector<std::string>& resources, std::size_t thresholds,
                                 MoveRules rules) const {
  std::ranges::stable_sort(rules.sources, std::ranges::greater{},
                           [&](const NodeUsage& node) { return mean_fullness(node, resources); });
  move_pods(context, sink, usage, resources, thresholds, std::move(rules));
}

/// Upstream adds millicores and bytes, so memory alone decides the order.
void LowNodeUtilization::relieve_upstream(const StrategyContext& context, NominationSink& sink, const UsageView& usage,
                                          const std::vector<std::string>& resources, MoveRules rules) const {
  std::ranges::stable_sort(rules.sources, std::ranges::greater{},
                           [&](const NodeUsage& node) { return node.raw_sum(resources); });
  move_pods_upstream(context, sink, usage, resources, std::move(rules));
}

}  // namespace strategies
