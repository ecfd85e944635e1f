#include "planner/strategies/load/target_load_packing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "planner/strategies/listing.hpp"
#include "planner/strategies/load/balance_subject.hpp"
#include "planner/strategies/load/loaded_nodes.hpp"
#include "planner/strategies/load/move_cost.hpp"
#include "planner/strategies/load/move_load.hpp"
#include "planner/strategies/utilization/consolidation.hpp"

namespace strategies {
namespace {

constexpr double kDefaultTarget = 40;  ///< Percent of cpu, Trimaran's default

using Percents = std::vector<double>;

constexpr double kNoTaintBelow = 0.75;  ///< Fraction of the target; a node below gets no soft taint
constexpr double kEmptyBelow = 0.5;     ///< Fraction of the target; two nodes at or below fit on one

Percents targets_of(const Thresholds& thresholds) {
  Percents targets;
  for (const auto& [resource, percent] : thresholds.high) targets.push_back(percent);
  return targets;
}

/// Score of the worst resource.
double score_of(std::span<const double> percent, const Percents& targets) {
  double worst = 100;
  for (std::size_t r = 0; r < percent.size(); ++r) {
    if (percent[r] >= 0) worst = std::min(worst, target_load_score(percent[r], targets[r]));  // else it has none
  }
  return worst;
}

bool is_over(std::span<const double> percent, const Percents& targets) {
  return !std::ranges::equal(percent, targets, std::ranges::less_equal{});
}

Percents part_of(Percents percents, double part) {
  for (double& percent : percents) percent *= part;
  return percents;
}

bool has_any_over(const LoadTable& load, const Percents& targets) {
  return std::ranges::any_of(load.known(), [&](NodeIndex node) { return is_over(load.percents(node), targets); });
}

/// Class of a node that is not above its target. Only packing empties nodes.
api::NodeClass class_below(std::span<const double> percent, const Percents& targets, bool packs) {
  const bool is_low = packs && !is_over(percent, part_of(targets, kEmptyBelow));
  return is_low ? api::NodeClass::kUnderutilized : api::NodeClass::kAppropriate;
}

std::string describe_class(const LoadTable& load, NodeIndex node, const Percents& targets, api::NodeClass node_class) {
  if (node_class != api::NodeClass::kUnderutilized) return describe_load(load, node, targets, "target");
  return describe_load(load, node, part_of(targets, kEmptyBelow), "half of target");
}

/// Picks sources, the fullest first, and destinations, the best score first.
void pick(const StrategyContext& context, const MeasuredLoad& load, const LoadTable& giving, const LoadTable& taking,
          const Percents& targets, LoadRules& rules, bool packs, NodeClassification& classes) {
  const auto says_over = [&](std::span<const double> percent) { return is_over(percent, targets); };
  for (const NodeIndex node : giving.known()) {
    if (!taking.knows(node)) continue;
    if (says_over(giving.percents(node))) {
      const bool is_confirmed = load.confirms(node, says_over);
      if (is_confirmed) rules.sources.push_back(node);
      classes.add(node, api::NodeClass::kOverutilized, [&] {
        return describe_load(giving, node, targets, "target").append(is_confirmed ? "" : kNotConfirmed);
      });
      continue;
    }
    if (!context.cluster.base().node(node).unschedulable) rules.destinations.push_back(node);
    const api::NodeClass node_class = class_below(taking.percents(node), targets, packs);
    classes.add(node, node_class, [&] { return describe_class(taking, node, targets, node_class); });
  }
  const auto by_giving = [&](NodeIndex node) { return score_of(giving.percents(node), targets); };
  const auto by_taking = [&](NodeIndex node) { return score_of(taking.percents(node), targets); };
  std::ranges::stable_sort(rules.sources, {}, by_giving);
  std::ranges::stable_sort(rules.destinations, std::ranges::greater{}, by_taking);
}

/// Returns why no node is relieved, or "" if one may be.
std::string why_not_relieved(const LoadTable& giving, const Percents& targets, const LoadRules& rules) {
  if (giving.known().empty()) return "no node has usable values of a resource that has a target";
  if (rules.sources.empty() && has_any_over(giving, targets))
    return "the nodes above the target are not confirmed by enough samples yet";
  if (rules.sources.empty()) return "no node is above the target";
  return rules.destinations.empty() ? "no destination node is below the target" : "";
}

/// Returns why no node is emptied, or "" if one may be.
std::string why_not_emptied(const LoadTable& load, const ConsolidationRules& rules, bool has_unconfirmed) {
  if (load.known().empty()) return "no node has usable values of a resource that has a target";
  if (rules.sources.empty() && has_unconfirmed)
    return "the nodes at or below half of the target are not confirmed by enough samples yet";
  if (rules.sources.empty()) return "no node with pods that may be emptied is at or below half of the target";
  return rules.sources.size() + rules.others.size() < 2 ? "no other node with pods can accept its pods" : "";
}

std::string describe(const LoadTable& load, NodeIndex node, const Percents& targets) {
  for (std::size_t r = 0; r < targets.size(); ++r) {
    if (load.percent(node, r) <= targets[r]) continue;
    return fmt::format("its node is above the target load: measured {} {:.1f} %, target {:.4g} %", load.resources()[r],
                       load.percent(node, r), targets[r]);
  }
  return "its node is above the target load";
}

Thresholds read_target(api::StrictObject& object) {
  Thresholds target;
  target.high = read_percentages(object, "target", ResourceRule::kMeasured);
  for (const auto& [resource, percent] : target.high) {
    if (percent > 0 && percent < 100) continue;
    object.errors().push_back({entry_path(object.path().field("target"), resource).text(),
                               fmt::format("{} is not between 0 and 100", percent)});
  }
  return target;
}

}  // namespace

double target_load_score(double percent, double target) {
  if (percent <= target) return (100 - target) * std::max(percent, 0.0) / target + target;
  if (percent >= 100) return 0;
  return target * (100 - percent) / (100 - target);
}

TargetLoadPacking::Args TargetLoadPacking::Args::read(api::StrictObject& args) {
  Args parsed;
  if (const auto usage = read_usage(args)) {
    parsed.usage = *usage;
  } else {
    args.complain("usage", "is required: the usage source of the strategy");
  }
  parsed.pools =
      read_node_pools(args, [](api::StrictObject& entry, NodePool& pool) { pool.thresholds = read_target(entry); });
  if (args.find("target") != nullptr) {
    parsed.target = read_target(args);
  } else if (parsed.pools.empty()) {
    parsed.target.high = {{"cpu", kDefaultTarget}};
  }
  args.read("pack", parsed.pack);
  args.read("margin", parsed.margin);
  if (parsed.margin < 0 || parsed.margin > 100)
    args.complain("margin", fmt::format("{} is not between 0 and 100", parsed.margin));
  check_pool_resources(args, parsed.pools, parsed.target);
  parsed.excluded_namespaces = read_excluded_namespaces(args);
  args.with("evictionLimits", [&](api::StrictObject& limits) { limits.read("node", parsed.evictions_per_node); });
  return parsed;
}

std::optional<BalanceSubject> TargetLoadPacking::balances(const StrategyContext& context) const {
  auto subject = subject_of(context, args_.usage.need, args_.pools, args_.target);
  if (!subject) return subject;
  const auto pools = divide_into_pools(context.cluster.base(), context.nodes, args_.pools, args_.target);
  bool relieves = !args_.pack;
  for (std::size_t i = 0; i < subject->pools.size(); ++i) {
    BalanceSubject::Pool& pool = subject->pools[i];
    const Percents targets = targets_of(*pools[i].thresholds);
    const LoadTable load(context.cluster.base(), *subject->usage, resources_of(args_.pools, args_.target), pool.nodes);
    const bool is_to_be_emptied = args_.pack && !has_any_over(load, targets);
    (is_to_be_emptied ? pool.emptied_up_to : pool.packed_to) =
        is_to_be_emptied ? part_of(targets, kEmptyBelow) : targets;
    relieves = relieves || !is_to_be_emptied;
  }
  subject->by_load = relieves;
  return subject;
}

base::Status TargetLoadPacking::nominate(const StrategyContext& context, NominationSink& sink) const {
  const auto measured = find_measured(context, args_.usage.need);
  if (!measured) return measured.error();
  const MeasuredLoad load(context, **measured, args_.usage, resources_of(args_.pools, args_.target));
  const auto pools = divide_into_pools(context.cluster.base(), context.nodes, args_.pools, args_.target);
  if (const base::Status known = load.check_known(nodes_in(pools)); !known) return known;
  NodeClassification classes(context, sink);
  for (const PoolNodes& pool : pools) {
    const Percents targets = targets_of(*pool.thresholds);
    if (args_.pack && !has_any_over(load.giving(pool.nodes), targets) &&
        !has_any_over(load.taking(pool.nodes), targets))
      empty(context, sink, load, pool, classes);
    else
      relieve(context, sink, load, pool, classes);
  }
  classes.add_nodes_in_no_pool(nodes_in(pools));
  classes.report();
  return base::Done{};
}

/// A node that needs more moves than the limit per node cannot be emptied.
bool TargetLoadPacking::may_be_emptied(const StrategyContext& context, NodeIndex node) const {
  std::vector<PodIndex> pods = pods_on(context, node, PodStates::kActive);
  std::erase_if(pods, [&](PodIndex pod) { return is_leaving_or_node_bound(context.cluster.base(), pod); });
  return !pods.empty() && (!args_.evictions_per_node || pods.size() <= *args_.evictions_per_node);
}

/// A node that is already empty takes no pods.
void TargetLoadPacking::empty(const StrategyContext& context, NominationSink& sink, const MeasuredLoad& load,
                              const PoolNodes& pool, NodeClassification& classes) const {
  LoadTable taking = load.taking(pool.nodes);
  const Percents targets = targets_of(*pool.thresholds);
  const Percents low = part_of(targets, kEmptyBelow);
  const auto is_low = [&](std::span<const double> percent) { return !is_over(percent, low); };
  ConsolidationRules rules{{}, {}, args_.excluded_namespaces, {}, &taking};
  rules.max_percent = targets;
  bool has_unconfirmed = false;
  for (const NodeIndex node : taking.known()) {
    const bool may_leave = is_low(taking.percents(node)) && may_be_emptied(context, node);
    const bool is_confirmed = !may_leave || load.confirms(node, is_low);
    has_unconfirmed = has_unconfirmed || !is_confirmed;
    if (may_leave && is_confirmed) rules.sources.push_back({node, {}, {}});
    if (!is_low(taking.percents(node)) || !is_confirmed) rules.others.push_back({node, {}, {}});
    const api::NodeClass node_class = class_below(taking.percents(node), targets, true);
    classes.add(node, node_class, [&] {
      return describe_class(taking, node, targets, node_class).append(is_confirmed ? "" : kNotConfirmed);
    });
  }
  classes.add_rest(taking);
  const std::string idle = why_not_emptied(taking, rules, has_unconfirmed);
  classes.note(pool.name, idle);
  if (!idle.empty()) return;
  const auto score = [&](const NodeUsage& node) { return score_of(taking.percents(node.node), targets); };
  std::ranges::stable_sort(rules.sources, {}, score);
  std::ranges::stable_sort(rules.others, std::ranges::greater{}, score);
  consolidate(context, sink, rules);
}

void TargetLoadPacking::relieve(const StrategyContext& context, NominationSink& sink, const MeasuredLoad& load,
                                const PoolNodes& pool, NodeClassification& classes) const {
  LoadTable giving = load.giving(pool.nodes);
  LoadTable taking = load.taking(pool.nodes);
  const Percents targets = targets_of(*pool.thresholds);
  LoadRules rules;
  pick(context, load, giving, taking, targets, rules, args_.pack, classes);
  classes.add_rest(giving);
  classes.note(pool.name, why_not_relieved(giving, targets, rules));
  LoadedNodes loaded(context, sink, taking, {part_of(targets, kNoTaintBelow), targets});
  if (args_.usage.soft_taint && has_any_over(taking, targets)) loaded.avoid(giving, rules.sources);
  rules.high = targets;
  rules.level = targets;
  rules.accepts = [&](NodeIndex from, std::span<const double> after) {
    return score_of(after, targets) >= score_of(giving.percents(from), targets) + args_.margin;
  };
  rules.excluded_namespaces = args_.excluded_namespaces;
  rules.evictions_per_node = args_.evictions_per_node;
  rules.reason = [&](NodeIndex node) { return describe(giving, node, targets); };
  move_load(context, sink, giving, taking, rules);
}

}  // namespace strategies
