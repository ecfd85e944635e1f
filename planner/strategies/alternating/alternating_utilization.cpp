#include "planner/strategies/alternating/alternating_utilization.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/meta/well_known.hpp"
#include "base/time/stored_time.hpp"
#include "planner/strategies/load/move_cost.hpp"

namespace strategies {
namespace {

constexpr std::int32_t kMaxRounds = 100;
constexpr base::minutes kMinTimeout{1};
constexpr base::minutes kMaxTimeout{24 * 60};

/// Returns whether the node has a pod that would have to move if the node were removed.
bool is_in_use(const StrategyContext& context, NodeIndex node) {
  bool is_used = false;
  context.cluster.for_each_on(node,
                              [&](PodIndex pod) { is_used = is_used || !is_node_bound(context.cluster.base(), pod); });
  return is_used;
}

void read_least_gain(api::StrictObject& args, RoundRules& rules) {
  args.with("minGain", [&](api::StrictObject& gain) {
    rules.min_freed.reset();
    gain.read("nodesFreed", rules.min_freed);
    gain.read("imbalance", rules.min_imbalance_gain);
    if (rules.min_freed && *rules.min_freed < 1)
      gain.complain("nodesFreed", fmt::format("{} is below 1", *rules.min_freed));
    if (rules.min_imbalance_gain && !(*rules.min_imbalance_gain > 0 && *rules.min_imbalance_gain <= 100))
      gain.complain("imbalance", fmt::format("{} is not above 0 and at most 100", *rules.min_imbalance_gain));
  });
  if (!rules.min_freed && !rules.min_imbalance_gain) args.complain("minGain", "must set nodesFreed, imbalance or both");
}

RoundRules read_rules(api::StrictObject& args) {
  RoundRules rules;
  args.read("maxRounds", rules.max_rounds);
  if (rules.max_rounds < 1 || rules.max_rounds > kMaxRounds)
    args.complain("maxRounds", fmt::format("{} is not between 1 and {}", rules.max_rounds, kMaxRounds));
  read_least_gain(args, rules);
  args.read_duration("settleTimeout", rules.settle_timeout);
  if (rules.settle_timeout < kMinTimeout || rules.settle_timeout > kMaxTimeout)
    args.complain("settleTimeout",
                  fmt::format("{} is not between 1m and 24h", base::format_duration(rules.settle_timeout)));
  return rules;
}

/// Whether the packing half runs. Without state, for example to measure the imbalance, the leveling half does.
bool packs(std::string_view state) {
  const auto rounds = read_rounds(state);
  return rounds && rounds->phase == kPacking;
}

template <typename HalfArgs>
HalfArgs read_half(api::StrictObject& args, std::string_view name) {
  HalfArgs half;
  if (args.find(name) == nullptr) args.complain(name, "is required: the args of the strategy of that name");
  args.with(name, [&](api::StrictObject& object) { half = HalfArgs::read(object); });
  return half;
}

}  // namespace

AlternatingUtilization::Args AlternatingUtilization::Args::read(api::StrictObject& args) {
  Args parsed;
  parsed.low = read_half<LowNodeUtilization>(args, "lowNodeUtilization");
  parsed.high = read_half<HighNodeUtilization>(args, "highNodeUtilization");
  parsed.high.soft_taint = true;
  parsed.rounds = read_rules(args);
  return parsed;
}

StrategyNeeds AlternatingUtilization::needs() const {
  StrategyNeeds needs{.usage = low_.needs().usage, .soft_taint = api::well_known::kEmptyingTaint};
  for (UsageNeed& need : high_.needs().usage) {
    if (std::ranges::find(needs.usage, need) == needs.usage.end()) needs.usage.push_back(std::move(need));
  }
  return needs;
}

std::optional<BalanceSubject> AlternatingUtilization::balances(const StrategyContext& context) const {
  return packs(context.state) ? std::nullopt : low_.balances(context);
}

base::Status AlternatingUtilization::level(const StrategyContext& context, NominationSink& sink) const {
  std::vector<NodeIndex> used;
  std::vector<NodeIndex> free;
  for (const NodeIndex node : context.nodes) (is_in_use(context, node) ? used : free).push_back(node);
  sink.plan().avoid(api::well_known::kEmptyingTaint, free);
  StrategyContext inside = context;
  inside.nodes = used;
  return low_.nominate(inside, sink);
}

base::Status AlternatingUtilization::nominate(const StrategyContext& context, NominationSink& sink) const {
  return packs(context.state) ? high_.nominate(context, sink) : level(context, sink);
}

std::string AlternatingUtilization::begin_cycle(const std::string& before, const CycleFacts& facts) const {
  auto known = read_rounds(before);
  if (known && known->planned_at) known->planned_at = base::clamp_to_now(*known->planned_at, facts.now);
  return to_state(next_rounds(known, facts, rules_), kName);
}

std::string AlternatingUtilization::after_idle(const std::string& state, const CycleFacts& facts) const {
  const auto rounds = read_rounds(state);
  return rounds ? to_state(after_half(*rounds, facts, rules_), kName) : state;
}

std::string AlternatingUtilization::after_planning(const std::string& state, std::int32_t planned) const {
  auto rounds = read_rounds(state);
  if (!rounds) return state;
  rounds->planned = planned;
  return to_state(*rounds, kName);
}

std::string AlternatingUtilization::after_creating(const std::string& state, std::int32_t created,
                                                   base::TimePoint cycle) const {
  auto rounds = read_rounds(state);
  if (!rounds) return state;
  rounds->moved += std::min(created, rounds->planned);
  rounds->planned_at = std::chrono::floor<base::seconds>(cycle);
  return to_state(*rounds, kName);
}

std::optional<MultiCycle::Progress> AlternatingUtilization::progress(const std::string& state) const {
  const auto rounds = read_rounds(state);
  if (!rounds) return std::nullopt;
  return Progress{rounds->phase == kStopped, rounds->waiting, rounds->planned, rounds->planned_at};
}

std::optional<MultiCycle::Report> AlternatingUtilization::report(const std::string& state, std::int32_t active) const {
  const auto rounds = read_rounds(state);
  return rounds ? std::optional(report_of(*rounds, rules_, kName, active)) : std::nullopt;
}

}  // namespace strategies
