#include "planner/strategies/utilization/high_node_utilization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <span>

#include "api/meta/well_known.hpp"
#include "planner/strategies/load/move_cost.hpp"
#include "planner/strategies/load/node_pools.hpp"
#include "planner/strategies/utilization/consolidation.hpp"
#include "planner/strategies/utilization/move_pods.hpp"

namespace strategies {
namespace {

constexpr std::array<std::string_view, 1> kEvictionModes = {"OnlyThresholdingResources"};

constexpr double kMaxByDefault = 80;  ///< Default percentage of measured load up to which nodes are filled

double sum_of_loads(const LoadTable& load, NodeIndex node) {
  double sum = 0;
  for (const double percent : load.percents(node)) sum += std::max(percent, 0.0);
  return sum;
}

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
  const ResourceRule rule = resource_rule_of(need_of(usage));
  Thresholds parsed;
  parsed.low = read_percentages(object, "thresholds", rule);
  for (const auto& [resource, percent] : parsed.low) parsed.high.emplace_back(resource, kMaxByDefault);
  if (object.find("targetThresholds") == nullptr) return parsed;
  if (!usage) {
    object.complain("targetThresholds", "has no effect without usage");
    return parsed;
  }
  parsed.high = read_percentages(object, "targetThresholds", rule);
  if (names_in(parsed.low) != names_in(parsed.high))
    object.complain("targetThresholds", "must name the same resources as thresholds");
  return parsed;
}

/// Empties nodes of one pool.
class PoolEmptying {
 public:
  PoolEmptying(const HighNodeUtilization& args, const StrategyContext& context, NominationSink& sink,
               const PoolNodes& pool, NodeClassification& classes)
      : args_(args), context_(context), sink_(sink), pool_(pool), classes_(classes) {}

  /// REQUIRES: the context has the nodes of the pool.
  base::Status by_requests() {
    const RequestedUsage usage(context_.cluster);
    const UsageWithoutPods without(usage, context_.cluster, left_out());
    const auto nodes = measure(context_.cluster, context_.nodes, usage, resources_);
    if (!nodes) return nodes.error();
    const bool counts_all = context_.is_upstream() && !args_.ignore_daemon_sets;
    const auto counting = counts_all ? nodes : measure(context_.cluster, context_.nodes, without, resources_);
    if (!counting) return counting.error();

    MoveRules rules;
    std::size_t judged = 0;
    for (std::size_t i = 0; i < nodes->size(); ++i) judged += judge((*nodes)[i], (*counting)[i], rules) ? 1 : 0;
    const std::string idle = why_idle(rules.sources.size(), judged);
    classes_.note(pool_.name, idle);
    if (const std::size_t more = low_without_daemon_sets(*counting); more > 0)
      classes_.note(pool_.name,
                    fmt::format("{} more would be underutilized without DaemonSet pods (ignoreDaemonSets)", more));
    if (!idle.empty()) return base::Done{};
    context_.is_upstream() ? drain_upstream(usage, std::move(rules)) : empty(rules);
    return base::Done{};
  }

  void by_load(const MeasuredLoad& load) {
    LoadTable taking = load.taking(pool_.nodes);
    const UsageWithoutPods counted(load.taking_usage(), context_.cluster, left_out());
    const LoadTable judged(context_.cluster.base(), counted, load.resources(), pool_.nodes);
    ConsolidationRules rules = consolidation();
    rules.load = &taking;
    rules.max_percent = percents_in(pool_.thresholds->high);
    for (const NodeIndex node : judged.known()) {
      const bool looks_low = !is_above(judged.percents(node), low_);
      const bool is_source = looks_low && is_confirmed(node, load, taking, judged);
      if (is_source) {
        rules.sources.push_back(node);
      } else if (!context_.cluster.base().node(node).unschedulable) {
        rules.others.push_back(node);
      }
      classes_.add(node, is_source ? api::NodeClass::kUnderutilized : api::NodeClass::kAppropriate, [&] {
        return describe_load(judged, node, low_, "thresholds").append(looks_low && !is_source ? kNotConfirmed : "");
      });
    }
    classes_.add_rest(judged);
    const std::string idle = why_idle(rules.sources.size(), judged.known().size());
    classes_.note(pool_.name, idle);
    if (!idle.empty()) return;
    const auto fullness = [&](NodeIndex node) { return sum_of_loads(taking, node); };
    std::ranges::stable_sort(rules.sources, {}, fullness);
    std::ranges::stable_sort(rules.others, std::ranges::greater{}, fullness);
    consolidate(context_, sink_, rules);
  }

 private:
  /// Returns the filter of pods that are ignored when judging whether a node is underutilized.
  UsageWithoutPods::IsLeftOut left_out() const { return args_.ignore_daemon_sets ? is_node_bound : is_leaving; }

  /// With OnlyThresholdingResources: pods with an entry in the requests of a container, even zero.
  std::function<bool(const api::Pod&)> wanted_pods() const {
    if (!args_.only_thresholding_resources) return {};
    return [names = args_.thresholds.resources()](const api::Pod& pod) {
      const auto requests_one = [&](const api::Container& container) {
        return std::ranges::any_of(container.requests, [&](const auto& request) {
          return std::ranges::find(names, request.first) != names.end();
        });
      };
      return std::ranges::any_of(pod.containers, requests_one) ||
             std::ranges::any_of(pod.init_containers, requests_one);
    };
  }

  ConsolidationRules consolidation() const {
    return {.excluded_namespaces = args_.excluded_namespaces,
            .wants = wanted_pods(),
            .taint = args_.soft_taint ? api::well_known::kEmptyingTaint : std::string_view()};
  }

  /// Returns why nothing is moved, or "" if nodes are to be emptied. `judged` is the number of judged nodes.
  std::string why_idle(std::size_t underused, std::size_t judged) const {
    if (judged == 0) return "no node publishes a resource that has thresholds";
    return is_too_few(underused, args_.number_of_nodes) ? describe_too_few(underused, args_.number_of_nodes, classes_)
                                                        : "";
  }

  /// Classifies a node by its usage `seen` without ignored pods. Returns false if it is out of scope.
  bool judge(const NodeUsage& node, const NodeUsage& seen, MoveRules& rules) {
    const bool in_scope = context_.is_upstream() || is_in_scope(node, low_.size());
    const bool is_low = in_scope && !resource_above(seen, low_, resources_);
    if (is_low) {
      rules.sources.push_back(node);  // cordoned nodes too
    } else if (!context_.cluster.base().node(node.node).unschedulable) {
      rules.destinations.push_back(node);
    }
    const auto node_class = !in_scope ? api::NodeClass::kOutOfScope
                            : is_low  ? api::NodeClass::kUnderutilized
                                      : api::NodeClass::kAppropriate;
    classes_.add(node.node, node_class, [&] {
      return in_scope ? describe_against(seen, low_, resources_, "thresholds") +
                            describe_ignored_usage(node, seen, low_, resources_)
                      : "without " + describe_unpublished(node, resources_, low_.size());
    });
    return in_scope;
  }

  /// Number of nodes that are not underutilized only because of DaemonSet and mirror pods.
  std::size_t low_without_daemon_sets(const std::vector<NodeUsage>& counting) const {
    if (args_.ignore_daemon_sets) return 0;
    const RequestedUsage usage(context_.cluster);
    const auto lean =
        measure(context_.cluster, context_.nodes, UsageWithoutPods(usage, context_.cluster, is_node_bound), resources_);
    if (!lean) return 0;
    std::size_t more = 0;
    for (std::size_t i = 0; i < lean->size(); ++i) {
      const bool is_in_doubt = is_in_scope(counting[i], low_.size()) && resource_above(counting[i], low_, resources_);
      if (is_in_doubt && !resource_above((*lean)[i], low_, resources_)) ++more;
    }
    return more;
  }

  /// Empties whole nodes.
  void empty(MoveRules& rules) const {
    const auto fullness = [&](const NodeUsage& node) { return mean_fullness(node, resources_); };
    std::ranges::stable_sort(rules.sources, {}, fullness);
    std::ranges::stable_sort(rules.destinations, std::ranges::greater{}, fullness);
    ConsolidationRules wanted = consolidation();
    std::ranges::transform(rules.sources, std::back_inserter(wanted.sources), &NodeUsage::node);
    std::ranges::transform(rules.destinations, std::back_inserter(wanted.others), &NodeUsage::node);
    consolidate(context_, sink_, wanted);
  }

  /// Moves as many pods as possible from nodes that may then stay, as upstream does.
  void drain_upstream(const UsageView& usage, MoveRules rules) const {
    std::string idle;
    if (rules.sources.size() == context_.nodes.size())
      idle = "all nodes are underutilized, and in this case compatibility Upstream moves nothing";
    else if (rules.destinations.empty())
      idle = "every node that is not underutilized is cordoned and accepts no pods";
    classes_.note(pool_.name, idle);
    if (!idle.empty()) return;
    std::ranges::stable_sort(rules.sources, {}, [&](const NodeUsage& node) { return node.raw_sum(resources_); });
    rules.set_targets(std::vector<double>(low_.size(), 100.0), resources_.size());
    rules.drain = true;
    rules.excluded_namespaces = args_.excluded_namespaces;
    rules.wants = wanted_pods();
    rules.reason = [](const NodeUsage&) { return std::string(kToBeEmptied); };
    move_pods(context_, sink_, usage, resources_, std::move(rules));
  }

  /// Returns whether samples confirm that the node is low. They include the pods that do not count, so the current
  /// difference between `all` pods and the judged ones is subtracted.
  bool is_confirmed(NodeIndex node, const MeasuredLoad& load, const LoadTable& all, const LoadTable& judged) const {
    std::vector<double> percents;
    return load.confirms(node, [&](std::span<const double> sample) {
      percents.assign(sample.begin(), sample.end());
      for (std::size_t r = 0; r < percents.size(); ++r) {
        if (all.knows(node) && all.has(node, r)) percents[r] -= all.percent(node, r) - judged.percent(node, r);
      }
      return !is_above(percents, low_);
    });
  }

  const HighNodeUtilization& args_;
  const StrategyContext& context_;
  NominationSink& sink_;
  const PoolNodes& pool_;
  NodeClassification& classes_;
  const std::vector<double> low_ = percents_in(pool_.thresholds->low);
  const std::vector<std::string> resources_ = tracked_resources(pool_.thresholds->low);
};

}  // namespace

HighNodeUtilization HighNodeUtilization::read(api::StrictObject& args) {
  HighNodeUtilization parsed;
  parsed.excluded_namespaces = read_excluded_namespaces(args);
  parsed.usage = read_usage(args);
  if (parsed.usage && parsed.usage->soft_taint)
    args.complain(
        "usage.softTaint",
        "is supported only by LowNodeUtilization and TargetLoadPacking: nodes to be emptied are not highly utilized");
  const std::size_t before = args.errors().size();
  parsed.thresholds.pools =
      read_node_pools(args, [&](api::StrictObject& entry) { return read_emptying(entry, parsed.usage); });
  if (args.find("thresholds") != nullptr || args.find("targetThresholds") != nullptr || parsed.thresholds.pools.empty())
    parsed.thresholds.own = read_emptying(args, parsed.usage);
  if (args.errors().size() == before) check_pool_resources(args, parsed.thresholds);
  parsed.number_of_nodes = read_number_of_nodes(args);
  args.read("ignoreDaemonSets", parsed.ignore_daemon_sets);
  parsed.only_thresholding_resources = !read_choices(args, "evictionModes", kEvictionModes).empty();
  return parsed;
}

StrategyNeeds HighNodeUtilization::needs() const {
  StrategyNeeds needs;
  if (usage) needs.usage.push_back(usage->need);
  return needs;
}

/// By requests even if usage is measured: the scheduler chooses destinations by requests, which decides which nodes
/// fill up.
std::optional<BalanceSubject> HighNodeUtilization::balances(const StrategyContext& context) const {
  auto subject = subject_of(context, need_of(usage), thresholds, false);  // a freed node counts whole
  if (!subject) return subject;
  subject->by_load = false;
  if (ignore_daemon_sets)
    subject->usage = std::make_shared<const UsageWithoutPods>(subject->usage, context.cluster, is_node_bound);
  const auto pools = divide_into_pools(context, thresholds);
  for (std::size_t i = 0; i < subject->pools.size(); ++i)
    subject->pools[i].emptied_up_to = percents_in(pools[i].thresholds->low);
  return subject;
}

/// With every threshold at 100 %, all nodes are underutilized.
std::string HighNodeUtilization::caution(bool is_upstream) const {
  const auto is_extreme = [](const Thresholds& own) {
    return !own.low.empty() && std::ranges::all_of(percents_in(own.low), [](double percent) { return percent >= 100; });
  };
  if (!is_extreme(thresholds.own) && std::ranges::none_of(thresholds.pools, is_extreme, &NodePool::thresholds))
    return {};
  if (is_upstream)
    return "thresholds of 100 classify every node as underutilized, and in this case compatibility Upstream moves "
           "nothing";
  return "thresholds of 100 classify every node as underutilized: each cycle empties as many nodes as possible onto "
         "the fullest ones, including well-utilized nodes";
}

base::Status HighNodeUtilization::nominate(const StrategyContext& context, NominationSink& sink) const {
  if (usage)
    return for_each_pool_by_load(context, sink, *usage, thresholds,
                                 [&](const auto& load, const auto& pool, auto& classes) {
                                   PoolEmptying(*this, context, sink, pool, classes).by_load(load);
                                 });
  return for_each_pool(context, sink, thresholds, [&](const auto& inside, const auto& pool, auto& classes) {
    return PoolEmptying(*this, inside, sink, pool, classes).by_requests();
  });
}

}  // namespace strategies
