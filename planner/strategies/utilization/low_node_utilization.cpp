#include "planner/strategies/utilization/low_node_utilization.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/meta/well_known.hpp"
#include "planner/strategies/load/level_load.hpp"
#include "planner/strategies/load/node_pools.hpp"
#include "planner/strategies/utilization/measured_view.hpp"
#include "planner/strategies/utilization/move_pods.hpp"

namespace strategies {
namespace {

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

std::string describe_overuse(const NodeUsage& node, const LoadBand& band, const std::vector<std::string>& resources) {
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

api::NodeClass class_of(const NodeStates& node, const LoadBand& band, const std::vector<std::string>& resources,
                        bool as_upstream) {
  using enum api::NodeClass;
  if (!as_upstream && !is_in_scope(node.taking, band.low.size())) return kOutOfScope;
  if (!resource_above(node.taking, band.low, resources)) return kUnderutilized;
  return resource_above(node.giving, band.high, resources) ? kOverutilized : kAppropriate;
}

/// Describes the threshold that decides the node's class.
std::string describe_class(const NodeStates& node, api::NodeClass node_class, const LoadBand& band,
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

/// Returns why nothing is moved, or "" if there are nodes to relieve and destinations.
std::string why_idle(const MoveRules& rules, std::size_t judged, std::int32_t number_of_nodes,
                     const NodeClassification& classes) {
  const std::size_t under = rules.destinations.size();
  if (judged == 0) return "no node publishes a resource that has thresholds";
  if (is_too_few(under, number_of_nodes)) return describe_too_few(under, number_of_nodes, classes);
  if (under == judged) return "all nodes are underutilized";
  return rules.sources.empty() ? "no node is overutilized" : "";
}

/// Returns the usage source for level_load(), or nullopt if measured load is not levelled.
std::optional<UsageArgs> levelled_usage(const LowNodeUtilization& args, const StrategyContext& context) {
  if (args.usage || !args.metrics || context.is_upstream()) return args.usage;
  UsageArgs usage;
  usage.need = *args.metrics;
  return usage;
}

/// Balances one pool. `context` has its nodes. Relieves the fullest node first. Upstream adds millicores and bytes, so
/// memory alone decides the order.
base::Status balance(const LowNodeUtilization& args, const StrategyContext& context, NominationSink& sink,
                     const UsageView& usage, const PoolNodes& pool, NodeClassification& classes) {
  const bool is_upstream = context.is_upstream();
  const Thresholds& thresholds = *pool.thresholds;
  const bool by_query = args.metrics && !args.metrics->query.empty();  // which provides no other resources
  const std::vector<std::string> resources =
      by_query ? std::vector<std::string>{scheduling::kMetricResource} : tracked_resources(thresholds.low);
  const auto nodes = measure(context.cluster, context.nodes, usage, resources);
  if (!nodes) return nodes.error();
  const UsageWithoutPods staying(usage, context.cluster, is_leaving);
  const auto left = is_upstream ? nodes : measure(context.cluster, context.nodes, staying, resources);
  if (!left) return left.error();

  const LoadBand band = load_band_of(
      thresholds, [&](std::size_t r) { return mean_percent(*left, r, thresholds.low[r].first, is_upstream); });
  MoveRules rules;
  std::size_t judged = 0;
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    const NodeStates node{(*left)[i], (*nodes)[i]};
    const api::NodeClass node_class = class_of(node, band, resources, is_upstream);
    classes.add(node.taking.node, node_class, [&] { return describe_class(node, node_class, band, resources); });
    judged += node_class == api::NodeClass::kOutOfScope ? 0 : 1;
    const bool cordoned = context.cluster.base().node(node.taking.node).unschedulable;
    if (node_class == api::NodeClass::kUnderutilized && !cordoned) {
      rules.destinations.push_back(node.taking);
    } else if (resource_above(node.giving, band.high, resources)) {
      rules.sources.push_back(node.giving);
    }
  }
  const std::string idle = why_idle(rules, judged, args.number_of_nodes, classes);
  classes.note(pool.name, idle);
  if (!idle.empty()) return base::Done{};

  std::ranges::stable_sort(rules.sources, std::ranges::greater{}, [&](const NodeUsage& node) {
    return is_upstream ? node.raw_sum(resources) : mean_fullness(node, resources);
  });
  rules.set_targets(band.high, resources.size());
  rules.excluded_namespaces = args.excluded_namespaces;
  rules.evictions_per_node = args.evictions_per_node;
  rules.reason = [&](const NodeUsage& node) { return describe_overuse(node, band, resources); };
  move_pods(context, sink, usage, resources, std::move(rules));
  return base::Done{};
}

}  // namespace

LowNodeUtilization LowNodeUtilization::read(api::StrictObject& args) {
  LowNodeUtilization parsed;
  parsed.metrics = read_metrics_utilization(args);
  parsed.usage = read_usage(args);
  if (parsed.metrics && parsed.usage) args.complain("usage", "cannot be combined with metricsUtilization");
  const ResourceRule rule = resource_rule_of(parsed.usage ? need_of(parsed.usage) : parsed.metrics);
  const std::size_t before = args.errors().size();
  parsed.thresholds.pools =
      read_node_pools(args, [&](api::StrictObject& entry) { return read_thresholds(entry, rule); });
  const bool has_own = args.find("thresholds") != nullptr || args.find("targetThresholds") != nullptr;
  if (has_own || parsed.thresholds.pools.empty()) {
    parsed.thresholds.own = read_thresholds(args, rule);
  } else if (args.find("useDeviationThresholds") != nullptr) {
    args.complain("useDeviationThresholds", "has no effect without thresholds: set it in nodePools");
  }
  if (args.errors().size() == before) check_pool_resources(args, parsed.thresholds);
  parsed.number_of_nodes = read_number_of_nodes(args);
  parsed.excluded_namespaces = read_excluded_namespaces(args);
  parsed.evictions_per_node = read_evictions_per_node(args);
  return parsed;
}

StrategyNeeds LowNodeUtilization::needs() const {
  StrategyNeeds needs;
  if (const auto need = usage ? need_of(usage) : metrics) needs.usage.push_back(*need);
  if (usage && usage->soft_taint) needs.soft_taint = api::well_known::kLoadedTaint;
  return needs;
}

std::optional<BalanceSubject> LowNodeUtilization::balances(const StrategyContext& context) const {
  return subject_of(context, usage ? need_of(usage) : metrics, thresholds);
}

base::Status LowNodeUtilization::nominate(const StrategyContext& context, NominationSink& sink) const {
  if (const auto by = levelled_usage(*this, context))
    return for_each_pool_by_load(context, sink, *by, thresholds,
                                 [&](const auto& load, const auto& pool, auto& classes) {
                                   level_load(context, sink, load, pool, *this, by->soft_taint, classes);
                                 });
  const auto balance_by = [&](const UsageView& view) {
    return for_each_pool(context, sink, thresholds, [&](const auto& inside, const auto& pool, auto& classes) {
      return balance(*this, inside, sink, view, pool, classes);
    });
  };
  if (!metrics) {
    const RequestedUsage by_requests(context.cluster);
    return balance_by(context.usage != nullptr ? *context.usage : by_requests);
  }
  const auto measured = find_measured(context, *metrics);
  if (!measured) return measured.error();
  return balance_by(MeasuredView(**measured, context.cluster,
                                 {.corrects = false, .has_pod_usage = metrics->metrics_server},
                                 context.measured_entries));
}

}  // namespace strategies
