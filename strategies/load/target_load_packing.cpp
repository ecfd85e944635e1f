#include "strategies/load/target_load_packing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "strategies/listing.hpp"
#include "strategies/load/balance_subject.hpp"
#include "strategies/load/loaded_nodes.hpp"
#include "strategies/load/move_cost.hpp"
#include "strategies/load/move_load.hpp"
#include "strategies/utilization/consolidation.hpp"

namespace strategies {
namespace {

constexpr double kDefaultTarget = 40;  ///< percent of cpu, as Trimaran has it

using Percents = std::vector<double>;

constexpr double kAlwaysWelcome = 0.75;  ///< of the target: a node below gets no soft taint
constexpr double kEmptied = 0.5;         ///< of the target: two nodes at or below fit on one

Percents targets_of(const Thresholds& thresholds) {
  Percents targets;
  for (const auto& [resource, percent] : thresholds.high) targets.push_back(percent);
  return targets;
}

/// The worst of the resources decides.
double score_of(std::span<const double> percent, const Percents& targets) {
  double worst = 100;
  for (std::size_t r = 0; r < percent.size(); ++r) {
    if (percent[r] >= 0) worst = std::min(worst, target_load_score(percent[r], targets[r]));  // else it has none of it
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

/// Sources, the fullest first; destinations, the best score first.
void pick(const StrategyContext& context, const MeasuredLoad& load, const LoadTable& giving, const LoadTable& taking,
          const Percents& targets, LoadRules& rules) {
  const auto says_over = [&](std::span<const double> percent) { return is_over(percent, targets); };
  for (const NodeIndex node : giving.known()) {
    if (!taking.knows(node)) continue;
    if (says_over(giving.percents(node))) {
      if (load.confirms(node, says_over)) rules.sources.push_back(node);
      continue;
    }
    if (!context.cluster.base().node(node).unschedulable) rules.destinations.push_back(node);
  }
  const auto by_giving = [&](NodeIndex node) { return score_of(giving.percents(node), targets); };
  const auto by_taking = [&](NodeIndex node) { return score_of(taking.percents(node), targets); };
  std::ranges::stable_sort(rules.sources, {}, by_giving);
  std::ranges::stable_sort(rules.destinations, std::ranges::greater{}, by_taking);
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
    args.complain("usage", "is required: whose figures it goes by");
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
    (is_to_be_emptied ? pool.emptied_up_to : pool.packed_to) = is_to_be_emptied ? part_of(targets, kEmptied) : targets;
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
  for (const PoolNodes& pool : pools) {
    const Percents targets = targets_of(*pool.thresholds);
    if (args_.pack && !has_any_over(load.giving(pool.nodes), targets) &&
        !has_any_over(load.taking(pool.nodes), targets))
      empty(context, sink, load, pool);
    else
      relieve(context, sink, load, pool);
  }
  return base::Done{};
}

/// Not when it would take more moves than a node's limit.
bool TargetLoadPacking::may_be_emptied(const StrategyContext& context, NodeIndex node) const {
  std::vector<PodIndex> pods = pods_on(context, node, PodStates::kActive);
  std::erase_if(pods, [&](PodIndex pod) { return is_no_work(context.cluster.base(), pod); });
  return !pods.empty() && (!args_.evictions_per_node || pods.size() <= *args_.evictions_per_node);
}

/// A node that is empty already takes nothing.
void TargetLoadPacking::empty(const StrategyContext& context, NominationSink& sink, const MeasuredLoad& load,
                              const PoolNodes& pool) const {
  LoadTable taking = load.taking(pool.nodes);
  const Percents targets = targets_of(*pool.thresholds);
  const Percents low = part_of(targets, kEmptied);
  const auto is_low = [&](std::span<const double> percent) { return !is_over(percent, low); };
  ConsolidationRules rules{{}, {}, args_.excluded_namespaces, {}, &taking};
  rules.most_percent = targets;
  for (const NodeIndex node : taking.known()) {
    if (!is_low(taking.percents(node))) {
      rules.others.push_back({node, {}, {}});
    } else if (may_be_emptied(context, node)) {
      (load.confirms(node, is_low) ? rules.sources : rules.others).push_back({node, {}, {}});
    }
  }
  const auto score = [&](const NodeUsage& node) { return score_of(taking.percents(node.node), targets); };
  std::ranges::stable_sort(rules.sources, {}, score);
  std::ranges::stable_sort(rules.others, std::ranges::greater{}, score);
  consolidate(context, sink, rules);
}

void TargetLoadPacking::relieve(const StrategyContext& context, NominationSink& sink, const MeasuredLoad& load,
                                const PoolNodes& pool) const {
  LoadTable giving = load.giving(pool.nodes);
  LoadTable taking = load.taking(pool.nodes);
  const Percents targets = targets_of(*pool.thresholds);
  LoadRules rules;
  pick(context, load, giving, taking, targets, rules);
  LoadedNodes loaded(context, sink, taking, {part_of(targets, kAlwaysWelcome), targets});
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
