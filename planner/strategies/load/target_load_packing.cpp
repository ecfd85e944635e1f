#include "planner/strategies/load/target_load_packing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "planner/strategies/listing.hpp"
#include "planner/strategies/load/loaded_nodes.hpp"
#include "planner/strategies/load/move_cost.hpp"
#include "planner/strategies/load/move_load.hpp"
#include "planner/strategies/load/node_pools.hpp"
#include "planner/strategies/utilization/consolidation.hpp"

namespace strategies {
namespace {

constexpr double kDefaultTarget = 40;  ///< Percent of cpu, Trimaran's default

using Percents = std::vector<double>;

constexpr double kNoTaintBelow = 0.75;  ///< Fraction of the target; a node below gets no soft taint
constexpr double kEmptyBelow = 0.5;     ///< Fraction of the target; two nodes at or below fit on one

/// Score of the worst resource.
double score_of(std::span<const double> percent, const Percents& targets) {
  double worst = 100;
  for (std::size_t r = 0; r < percent.size(); ++r) {
    if (percent[r] >= 0) worst = std::min(worst, target_load_score(percent[r], targets[r]));  // else it has none
  }
  return worst;
}

Percents part_of(Percents percents, double part) {
  for (double& percent : percents) percent *= part;
  return percents;
}

/// Class of a node that is not above its target. Only packing empties nodes.
api::NodeClass class_below(std::span<const double> percent, const Percents& targets, bool packs) {
  const bool is_low = packs && !is_above(percent, part_of(targets, kEmptyBelow));
  return is_low ? api::NodeClass::kUnderutilized : api::NodeClass::kAppropriate;
}

std::string describe_class(const LoadTable& load, NodeIndex node, const Percents& targets, api::NodeClass node_class) {
  if (node_class != api::NodeClass::kUnderutilized) return describe_load(load, node, targets, "target");
  return describe_load(load, node, part_of(targets, kEmptyBelow), "half of target");
}

/// Picks sources, the fullest first, and destinations, the best score first.
void pick(const StrategyContext& context, const MeasuredLoad& load, const LoadTable& giving, const LoadTable& taking,
          const Percents& targets, LoadRules& rules, bool packs, NodeClassification& classes) {
  const auto says_over = [&](std::span<const double> percent) { return is_above(percent, targets); };
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
  if (rules.sources.empty() && has_any_above(giving, targets))
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

/// A node that needs more moves than the limit per node cannot be emptied.
bool may_be_emptied(const TargetLoadPacking& args, const StrategyContext& context, NodeIndex node) {
  std::vector<PodIndex> pods = pods_on(context, node, PodStates::kActive);
  std::erase_if(pods, [&](PodIndex pod) { return is_node_bound(context.cluster.base(), pod); });
  return !pods.empty() && (!args.evictions_per_node || pods.size() <= *args.evictions_per_node);
}

/// A node that is already empty takes no pods.
void empty(const TargetLoadPacking& args, const StrategyContext& context, NominationSink& sink,
           const MeasuredLoad& load, const PoolNodes& pool, NodeClassification& classes) {
  LoadTable taking = load.taking(pool.nodes);
  const Percents targets = percents_in(pool.thresholds->high);
  const Percents low = part_of(targets, kEmptyBelow);
  const auto is_low = [&](std::span<const double> percent) { return !is_above(percent, low); };
  ConsolidationRules rules{.excluded_namespaces = args.excluded_namespaces, .load = &taking, .max_percent = targets};
  bool has_unconfirmed = false;
  for (const NodeIndex node : taking.known()) {
    const bool may_leave = is_low(taking.percents(node)) && may_be_emptied(args, context, node);
    const bool is_confirmed = !may_leave || load.confirms(node, is_low);
    has_unconfirmed = has_unconfirmed || !is_confirmed;
    if (may_leave && is_confirmed) rules.sources.push_back(node);
    if (!is_low(taking.percents(node)) || !is_confirmed) rules.others.push_back(node);
    const api::NodeClass node_class = class_below(taking.percents(node), targets, true);
    classes.add(node, node_class, [&] {
      return describe_class(taking, node, targets, node_class).append(is_confirmed ? "" : kNotConfirmed);
    });
  }
  classes.add_rest(taking);
  const std::string idle = why_not_emptied(taking, rules, has_unconfirmed);
  classes.note(pool.name, idle);
  if (!idle.empty()) return;
  const auto score = [&](NodeIndex node) { return score_of(taking.percents(node), targets); };
  std::ranges::stable_sort(rules.sources, {}, score);
  std::ranges::stable_sort(rules.others, std::ranges::greater{}, score);
  consolidate(context, sink, rules);
}

void relieve(const TargetLoadPacking& args, const StrategyContext& context, NominationSink& sink,
             const MeasuredLoad& load, const PoolNodes& pool, NodeClassification& classes) {
  LoadTable giving = load.giving(pool.nodes);
  LoadTable taking = load.taking(pool.nodes);
  const Percents targets = percents_in(pool.thresholds->high);
  LoadRules rules;
  pick(context, load, giving, taking, targets, rules, args.pack, classes);
  classes.add_rest(giving);
  classes.note(pool.name, why_not_relieved(giving, targets, rules));
  LoadedNodes loaded(context, sink, taking, {part_of(targets, kNoTaintBelow), targets});
  if (args.usage.soft_taint && has_any_above(taking, targets)) loaded.avoid(giving, rules.sources);
  rules.high = targets;
  rules.level = targets;
  rules.accepts = [&](NodeIndex from, std::span<const double> after) {
    return score_of(after, targets) >= score_of(giving.percents(from), targets) + args.margin;
  };
  rules.excluded_namespaces = args.excluded_namespaces;
  rules.evictions_per_node = args.evictions_per_node;
  rules.reason = [&](NodeIndex node) {
    return "its node is above the target load" + describe_excess(giving, node, targets);
  };
  move_load(context, sink, giving, taking, rules);
}

}  // namespace

double target_load_score(double percent, double target) {
  if (percent <= target) return (100 - target) * std::max(percent, 0.0) / target + target;
  if (percent >= 100) return 0;
  return target * (100 - percent) / (100 - target);
}

TargetLoadPacking TargetLoadPacking::read(api::StrictObject& args) {
  TargetLoadPacking parsed;
  if (const auto usage = read_usage(args)) {
    parsed.usage = *usage;
  } else {
    args.complain("usage", "is required: the usage source of the strategy");
  }
  parsed.target.pools = read_node_pools(args, read_target);
  if (args.find("target") != nullptr) {
    parsed.target.own = read_target(args);
  } else if (parsed.target.pools.empty()) {
    parsed.target.own.high = {{"cpu", kDefaultTarget}};
  }
  args.read("pack", parsed.pack);
  args.read("margin", parsed.margin);
  if (parsed.margin < 0 || parsed.margin > 100)
    args.complain("margin", fmt::format("{} is not between 0 and 100", parsed.margin));
  check_pool_resources(args, parsed.target);
  parsed.excluded_namespaces = read_excluded_namespaces(args);
  parsed.evictions_per_node = read_evictions_per_node(args);
  return parsed;
}

std::optional<BalanceSubject> TargetLoadPacking::balances(const StrategyContext& context) const {
  auto subject = subject_of(context, usage.need, target);
  if (!subject) return subject;
  const auto pools = divide_into_pools(context, target);
  bool relieves = !pack;
  for (std::size_t i = 0; i < subject->pools.size(); ++i) {
    BalanceSubject::Pool& pool = subject->pools[i];
    const Percents targets = percents_in(pools[i].thresholds->high);
    const LoadTable load(context.cluster.base(), *subject->usage, subject->resources, pool.nodes);
    const bool is_to_be_emptied = pack && !has_any_above(load, targets);
    (is_to_be_emptied ? pool.emptied_up_to : pool.packed_to) =
        is_to_be_emptied ? part_of(targets, kEmptyBelow) : targets;
    relieves = relieves || !is_to_be_emptied;
  }
  subject->by_load = relieves;
  return subject;
}

base::Status TargetLoadPacking::nominate(const StrategyContext& context, NominationSink& sink) const {
  return for_each_pool_by_load(context, sink, usage, target, [&](const auto& load, const auto& pool, auto& classes) {
    const Percents targets = percents_in(pool.thresholds->high);
    const bool packs =
        pack && !has_any_above(load.giving(pool.nodes), targets) && !has_any_above(load.taking(pool.nodes), targets);
    (packs ? empty : relieve)(*this, context, sink, load, pool, classes);
  });
}

}  // namespace strategies
