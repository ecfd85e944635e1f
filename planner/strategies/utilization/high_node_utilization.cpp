#include "planner/strategies/utilization/high_node_utilization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "api/meta/well_known.hpp"
#include "planner/strategies/load/balance_subject.hpp"
#include "planner/strategies/utilization/consolidation.hpp"
#include "planner/strategies/utilization/move_pods.hpp"

namespace strategies {
namespace {

constexpr std::array<std::string_view, 1> kEvictionModes = {"OnlyThresholdingResources"};

constexpr double kMaxByDefault = 80;  ///< Default percentage of measured load up to which nodes are filled

std::vector<double> percents_in(const Percentages& percentages) {
  std::vector<double> percents;
  for (const auto& [resource, percent] : percentages) percents.push_back(percent);
  return percents;
}

double sum_of_loads(const LoadTable& load, NodeIndex node) {
  double sum = 0;
  for (const double percent : load.percents(node)) sum += std::max(percent, 0.0);
  return sum;
}

/// Removes from a sample the current difference between `all` and `judged`. The result is valid until the next call.
class SampleWithout {
 public:
  std::span<const double> operator()(std::span<const double> sample, const LoadTable& all, const LoadTable& judged,
                                     NodeIndex node) {
    percents_.assign(sample.begin(), sample.end());
    for (std::size_t r = 0; r < percents_.size(); ++r) {
      if (all.knows(node) && all.has(node, r)) percents_[r] -= all.percent(node, r) - judged.percent(node, r);
    }
    return percents_;
  }

 private:
  std::vector<double> percents_;
};

/// Returns text such as " (all pods: cpu 57.0 % of allocatable)" if only ignored pods raise the node above a
/// threshold, else "".
std::string describe_ignored_usage(const NodeUsage& node, const NodeUsage& seen, const std::vector<double>& low,
                                   const std::vector<std::string>& resources) {
  const auto above = resource_above(node, low, resources);
  if (!above || resource_above(seen, low, resources)) return {};
  return fmt::format(" (all pods: {})", describe_share(node, *above, resources[*above]));
}

/// Reads thresholds and, with measured usage, targetThresholds.
Thresholds read_emptying(api::StrictObject& object, const std::optional<UsageArgs>& usage) {
  const ResourceRule rule = resource_rule_of(usage ? std::optional(usage->need) : std::nullopt);
  Thresholds parsed;
  parsed.low = read_percentages(object, "thresholds", rule);
  for (const auto& [resource, percent] : parsed.low) parsed.high.emplace_back(resource, kMaxByDefault);
  if (object.find("targetThresholds") == nullptr) return parsed;
  if (!usage) {
    object.complain("targetThresholds", "has no effect without usage");
    return parsed;
  }
  parsed.high = read_percentages(object, "targetThresholds", rule);
  if (!std::ranges::equal(parsed.low, parsed.high, {}, &Percentages::value_type::first,
                          &Percentages::value_type::first))
    object.complain("targetThresholds", "must name the same resources as thresholds");
  return parsed;
}

/// Returns why nothing is moved with compatibility Upstream, or "".
std::string why_upstream_idle(const StrategyContext& context, const MoveRules& rules) {
  if (rules.sources.size() == context.nodes.size())
    return "all nodes are underutilized, and in this case compatibility Upstream moves nothing";
  return rules.destinations.empty() ? "every node that is not underutilized is cordoned and accepts no pods" : "";
}

}  // namespace

HighNodeUtilization::Args HighNodeUtilization::Args::read(api::StrictObject& args) {
  Args parsed;
  parsed.excluded_namespaces = read_excluded_namespaces(args);
  parsed.usage = read_usage(args);
  if (parsed.usage && parsed.usage->soft_taint)
    args.complain(
        "usage.softTaint",
        "is supported only by LowNodeUtilization and TargetLoadPacking: nodes to be emptied are not highly utilized");
  const std::size_t before = args.errors().size();
  parsed.pools = read_node_pools(
      args, [&](api::StrictObject& entry, NodePool& pool) { pool.thresholds = read_emptying(entry, parsed.usage); });
  if (args.find("thresholds") != nullptr || args.find("targetThresholds") != nullptr || parsed.pools.empty())
    parsed.thresholds = read_emptying(args, parsed.usage);
  if (args.errors().size() == before) check_pool_resources(args, parsed.pools, parsed.thresholds);
  parsed.number_of_nodes = read_number_of_nodes(args);
  args.read("ignoreDaemonSets", parsed.ignore_daemon_sets);
  parsed.only_thresholding_resources = !read_choices(args, "evictionModes", kEvictionModes).empty();
  return parsed;
}

StrategyNeeds HighNodeUtilization::needs() const {
  StrategyNeeds needs;
  if (args_.usage) needs.usage.push_back(args_.usage->need);
  return needs;
}

/// By requests even if usage is measured: the scheduler chooses destinations by requests, which decides which nodes
/// fill up.
std::optional<BalanceSubject> HighNodeUtilization::balances(const StrategyContext& context) const {
  const auto need = args_.usage ? std::optional(args_.usage->need) : std::nullopt;
  auto subject = subject_of(context, need, args_.pools, args_.thresholds, false);  // a freed node counts whole
  if (!subject) return subject;
  subject->by_load = false;
  if (args_.ignore_daemon_sets)
    subject->usage =
        std::make_shared<const UsageWithoutPods>(subject->usage, context.cluster, is_leaving_or_node_bound);
  const auto pools = divide_into_pools(context.cluster.base(), context.nodes, args_.pools, args_.thresholds);
  for (std::size_t i = 0; i < subject->pools.size(); ++i)
    subject->pools[i].emptied_up_to = percents_in(pools[i].thresholds->low);
  return subject;
}

/// With OnlyThresholdingResources: pods with an entry in the requests of a container, even zero.
std::function<bool(const api::Pod&)> HighNodeUtilization::wanted_pods() const {
  if (!args_.only_thresholding_resources) return {};
  return [names = resources_of(args_.pools, args_.thresholds)](const api::Pod& pod) {
    const auto requests_one = [&](const api::Container& container) {
      return std::ranges::any_of(container.requests, [&](const auto& request) {
        return std::ranges::find(names, request.first) != names.end();
      });
    };
    return std::ranges::any_of(pod.containers, requests_one) || std::ranges::any_of(pod.init_containers, requests_one);
  };
}

/// With every threshold at 100 %, all nodes are underutilized.
std::string HighNodeUtilization::caution(bool is_upstream) const {
  const auto is_extreme = [](const Thresholds& thresholds) {
    return !thresholds.low.empty() &&
           std::ranges::all_of(thresholds.low, [](const auto& each) { return each.second >= 100; });
  };
  const auto is_extreme_pool = [&](const NodePool& pool) { return is_extreme(pool.thresholds); };
  if (!is_extreme(args_.thresholds) && std::ranges::none_of(args_.pools, is_extreme_pool)) return {};
  if (is_upstream)
    return "thresholds of 100 classify every node as underutilized, and in this case compatibility Upstream moves "
           "nothing";
  return "thresholds of 100 classify every node as underutilized: each cycle empties as many nodes as possible onto "
         "the fullest ones, including well-utilized nodes";
}

bool HighNodeUtilization::is_too_few(std::size_t underused) const {
  return underused == 0 || underused <= static_cast<std::size_t>(std::max(args_.number_of_nodes, 0));
}

std::string HighNodeUtilization::why_idle(std::size_t underused, std::size_t judged,
                                          const NodeClassification& classes) const {
  if (judged == 0) return "no node publishes a resource that has thresholds";
  return is_too_few(underused) ? describe_too_few(underused, args_.number_of_nodes, classes) : "";
}

void HighNodeUtilization::relieve(const StrategyContext& context, NominationSink& sink,
                                  const std::vector<std::string>& resources, MoveRules rules) const {
  const auto fullness = [&](const NodeUsage& node) { return mean_fullness(node, resources); };
  ConsolidationRules wanted{std::move(rules.sources), std::move(rules.destinations), args_.excluded_namespaces,
                            wanted_pods()};
  if (args_.soft_taint) wanted.taint = api::well_known::kEmptyingTaint;
  std::ranges::stable_sort(wanted.sources, {}, fullness);
  std::ranges::stable_sort(wanted.others, std::ranges::greater{}, fullness);
  consolidate(context, sink, wanted);
}

void HighNodeUtilization::relieve_by_load(const StrategyContext& context, NominationSink& sink,
                                          const MeasuredLoad& load, const PoolNodes& pool,
                                          NodeClassification& classes) const {
  LoadTable taking = load.taking(pool.nodes);
  const UsageWithoutPods counted(load.taking_usage(), context.cluster, left_out());
  const LoadTable judged(context.cluster.base(), counted, load.resources(), pool.nodes);
  const std::vector<double> low = percents_in(pool.thresholds->low);
  const auto is_low = [&](std::span<const double> percent) {
    return std::ranges::equal(percent, low, std::ranges::less_equal{});
  };
  ConsolidationRules rules{{}, {}, args_.excluded_namespaces, wanted_pods(), &taking};
  rules.max_percent = percents_in(pool.thresholds->high);
  if (args_.soft_taint) rules.taint = api::well_known::kEmptyingTaint;
  SampleWithout without;
  for (const NodeIndex node : judged.known()) {
    const bool looks_low = is_low(judged.percents(node));
    // Samples include the pods that do not count.
    const auto says_low = [&](std::span<const double> sample) { return is_low(without(sample, taking, judged, node)); };
    const bool is_source = looks_low && load.confirms(node, says_low);
    if (is_source) {
      rules.sources.push_back({node, {}, {}});
    } else if (!context.cluster.base().node(node).unschedulable) {
      rules.others.push_back({node, {}, {}});
    }
    classes.add(node, is_source ? api::NodeClass::kUnderutilized : api::NodeClass::kAppropriate, [&] {
      return describe_load(judged, node, low, "thresholds").append(looks_low && !is_source ? kNotConfirmed : "");
    });
  }
  classes.add_rest(judged);
  const std::string idle = why_idle(rules.sources.size(), judged.known().size(), classes);
  classes.note(pool.name, idle);
  if (!idle.empty()) return;
  const auto fullness = [&](const NodeUsage& node) { return sum_of_loads(taking, node.node); };
  std::ranges::stable_sort(rules.sources, {}, fullness);
  std::ranges::stable_sort(rules.others, std::ranges::greater{}, fullness);
  consolidate(context, sink, rules);
}

void HighNodeUtilization::relieve_upstream(const StrategyContext& context, NominationSink& sink,
                                           const std::vector<std::string>& resources, std::size_t thresholds,
                                           MoveRules rules) const {
  std::ranges::stable_sort(rules.sources, {}, [&](const NodeUsage& node) { return node.raw_sum(resources); });
  rules.target_percent.assign(thresholds, 100.0);
  rules.target_percent.resize(resources.size());
  rules.drain = true;
  rules.excluded_namespaces = args_.excluded_namespaces;
  rules.wants = wanted_pods();
  rules.reason = [](const NodeUsage&) { return std::string(kToBeEmptied); };
  move_pods_upstream(context, sink, RequestedUsage(context.cluster), resources, std::move(rules));
}

/// Number of nodes that are not underutilized only because of DaemonSet and mirror pods.
std::size_t HighNodeUtilization::low_without_daemon_sets(const StrategyContext& context,
                                                         const std::vector<NodeUsage>& counting,
                                                         const std::vector<double>& low,
                                                         const std::vector<std::string>& resources) const {
  if (args_.ignore_daemon_sets) return 0;
  const RequestedUsage usage(context.cluster);
  const auto lean = measure(context.cluster, context.nodes,
                            UsageWithoutPods(usage, context.cluster, is_leaving_or_node_bound), resources);
  if (!lean) return 0;
  std::size_t more = 0;
  for (std::size_t i = 0; i < lean->size(); ++i) {
    const bool is_in_doubt = is_in_scope(counting[i], low.size()) && resource_above(counting[i], low, resources);
    if (is_in_doubt && !resource_above((*lean)[i], low, resources)) ++more;
  }
  return more;
}

base::Status HighNodeUtilization::empty_by_requests(const StrategyContext& context, NominationSink& sink,
                                                    const PoolNodes& pool, NodeClassification& classes) const {
  const Percentages& thresholds = pool.thresholds->low;
  const RequestedUsage usage(context.cluster);
  const std::vector<std::string> resources = tracked_resources(thresholds);
  const std::vector<double> low = percents_in(thresholds);
  const auto nodes = measure(context.cluster, context.nodes, usage, resources);
  if (!nodes) return nodes.error();
  const bool counts_all = context.is_upstream() && !args_.ignore_daemon_sets;
  const UsageWithoutPods counted(usage, context.cluster, left_out());
  const auto counting = counts_all ? nodes : measure(context.cluster, context.nodes, counted, resources);
  if (!counting) return counting.error();

  MoveRules rules;
  std::size_t judged = 0;
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    const NodeUsage& node = (*nodes)[i];
    const NodeUsage& seen = (*counting)[i];
    const bool in_scope = context.is_upstream() || is_in_scope(node, low.size());
    const bool is_low = in_scope && !resource_above(seen, low, resources);
    judged += in_scope ? 1 : 0;
    if (is_low) {
      rules.sources.push_back(node);  // cordoned nodes too
    } else if (!context.cluster.base().node(node.node).unschedulable) {
      rules.destinations.push_back(node);
    }
    const auto node_class = !in_scope ? api::NodeClass::kOutOfScope
                            : is_low  ? api::NodeClass::kUnderutilized
                                      : api::NodeClass::kAppropriate;
    classes.add(node.node, node_class, [&] {
      return in_scope ? describe_against(seen, low, resources, "thresholds") +
                            describe_ignored_usage(node, seen, low, resources)
                      : "without " + describe_unpublished(node, resources, low.size());
    });
  }
  const std::string idle = why_idle(rules.sources.size(), judged, classes);
  classes.note(pool.name, idle);
  if (const std::size_t more = low_without_daemon_sets(context, *counting, low, resources); more > 0)
    classes.note(pool.name,
                 fmt::format("{} more would be underutilized without DaemonSet pods (ignoreDaemonSets)", more));
  if (!idle.empty()) return base::Done{};
  if (context.is_upstream()) {
    const std::string upstream_idle = why_upstream_idle(context, rules);
    classes.note(pool.name, upstream_idle);
    if (!upstream_idle.empty()) return base::Done{};
    relieve_upstream(context, sink, resources, thresholds.size(), std::move(rules));
  } else {
    relieve(context, sink, resources, std::move(rules));
  }
  return base::Done{};
}

base::Status HighNodeUtilization::empty_by_load(const StrategyContext& context, NominationSink& sink) const {
  const auto measured = find_measured(context, args_.usage->need);
  if (!measured) return measured.error();
  const MeasuredLoad load(context, **measured, *args_.usage, resources_of(args_.pools, args_.thresholds));
  const auto pools = divide_into_pools(context.cluster.base(), context.nodes, args_.pools, args_.thresholds);
  if (const base::Status known = load.check_known(nodes_in(pools)); !known) return known;
  NodeClassification classes(context, sink);
  for (const PoolNodes& pool : pools) relieve_by_load(context, sink, load, pool, classes);
  classes.add_nodes_in_no_pool(nodes_in(pools));
  classes.report();
  return base::Done{};
}

base::Status HighNodeUtilization::nominate(const StrategyContext& context, NominationSink& sink) const {
  if (args_.usage) return empty_by_load(context, sink);
  NodeClassification classes(context, sink);
  const auto pools = divide_into_pools(context.cluster.base(), context.nodes, args_.pools, args_.thresholds);
  for (const PoolNodes& pool : pools) {
    StrategyContext inside = context;
    inside.nodes = pool.nodes;
    if (const base::Status done = empty_by_requests(inside, sink, pool, classes); !done) return done;
  }
  classes.add_nodes_in_no_pool(nodes_in(pools));
  classes.report();
  return base::Done{};
}

}  // namespace strategies
