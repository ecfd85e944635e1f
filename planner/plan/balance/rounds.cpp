#include "planner/plan/balance/rounds.hpp"

#include <algorithm>
#include <cmath>

#include "planner/plan/balance/balance_meter.hpp"

namespace planner {
namespace {

using scheduling::NodeIndex;
using scheduling::PodIndex;

constexpr double kMinDifference = 1;       // minimum change of the imbalance, in points
constexpr double kPartOfImbalance = 0.25;  // share of the imbalance at the stop

bool is_in_use(const scheduling::ClusterSnapshot& cluster, NodeIndex node) {
  return std::ranges::any_of(cluster.pods_on(node), [&](PodIndex pod) {
    return cluster.is_staying(pod) && !cluster.is_daemon_set(pod) && !cluster.is_mirror(pod);
  });
}

double imbalance_of(const scheduling::ClusterSnapshot& cluster, strategies::BalanceSubject subject) {
  for (auto& pool : subject.pools) std::erase_if(pool.nodes, [&](NodeIndex node) { return !is_in_use(cluster, node); });
  double most = 0;
  for (const api::BalanceRow& row : BalanceMeter(cluster, std::move(subject)).rows(""))
    most = std::max(most, row.before.deviation);
  return most;
}

void take_baseline(api::RoundsStatus& rounds, const RoundsSeen& seen) {
  rounds.nodes = seen.nodes;
  rounds.nodes_in_use = seen.nodes_in_use;
  rounds.imbalance = seen.imbalance;
}

api::RoundsStatus begin_round(api::RoundsStatus rounds, std::int32_t round, const RoundsSeen& seen) {
  rounds.round = round;
  rounds.phase = kLeveling;
  rounds.moved = 0;
  rounds.planned = 0;
  take_baseline(rounds, seen);
  return rounds;
}

api::RoundsStatus stopped(api::RoundsStatus rounds, std::string_view reason, const RoundsSeen& seen) {
  rounds.phase = kStopped;
  rounds.reason = reason;
  rounds.waiting = false;
  rounds.planned = 0;
  take_baseline(rounds, seen);
  return rounds;
}

/// Returns true if the counts differ by more than a tenth. Smaller changes are normal as nodes, and pods alone on their
/// node, come and go.
bool are_others(std::int32_t then, std::int32_t now) { return std::abs(std::int64_t{then} - now) * 10 > then; }

/// Returns true if the cluster has changed since the stop. A smaller number of nodes does not count, because free nodes
/// are meant to be removed.
bool is_another(const api::RoundsStatus& then, const RoundsSeen& now) {
  return (now.nodes > then.nodes && are_others(then.nodes, now.nodes)) ||
         are_others(then.nodes_in_use, now.nodes_in_use) ||
         std::abs(then.imbalance - now.imbalance) > std::max(kMinDifference, kPartOfImbalance * then.imbalance);
}

bool took_too_long(const api::RoundsStatus& rounds, const RoundsSeen& seen, const strategies::RoundRules& rules) {
  return seen.may_time_out && rounds.planned_at && seen.now - *rounds.planned_at > rules.settle_timeout;
}

/// Number of nodes freed in the round. Nodes that were added or removed meanwhile are not attributed to the round.
std::int32_t freed_in(const api::RoundsStatus& rounds, const RoundsSeen& seen) {
  return std::max(rounds.nodes_in_use - seen.nodes_in_use, 0);
}

bool has_gained(const api::RoundsStatus& rounds, const RoundsSeen& seen, const strategies::RoundRules& rules) {
  if (rules.min_freed && freed_in(rounds, seen) >= *rules.min_freed) return true;
  return rules.min_imbalance_gain && rounds.imbalance - seen.imbalance >= *rules.min_imbalance_gain;
}

api::RoundsStatus after_round(api::RoundsStatus rounds, const RoundsSeen& seen, const strategies::RoundRules& rules) {
  if (rounds.moved == 0) return stopped(std::move(rounds), "Converged", seen);
  const bool gained = has_gained(rounds, seen, rules);
  rounds.nodes_freed += freed_in(rounds, seen);
  if (!gained) return stopped(std::move(rounds), "NoProgress", seen);
  if (rounds.round >= rules.max_rounds) return stopped(std::move(rounds), "MaxRounds", seen);
  const std::int32_t next = rounds.round + 1;
  return begin_round(std::move(rounds), next, seen);
}

}  // namespace

RoundsSeen observe_rounds(const scheduling::ClusterSnapshot& cluster, std::span<const NodeIndex> nodes,
                          std::optional<strategies::BalanceSubject> subject) {
  RoundsSeen seen;
  seen.nodes = static_cast<std::int32_t>(nodes.size());
  seen.nodes_in_use =
      static_cast<std::int32_t>(std::ranges::count_if(nodes, [&](NodeIndex node) { return is_in_use(cluster, node); }));
  if (subject) seen.imbalance = imbalance_of(cluster, *std::move(subject));
  return seen;
}

api::RoundsStatus next_rounds(const api::RoundsStatus* before, const RoundsSeen& seen,
                              const strategies::RoundRules& rules) {
  const bool begins = before == nullptr || (before->phase == kStopped && seen.is_settled && is_another(*before, seen));
  if (begins) {
    api::RoundsStatus first = begin_round({}, 1, seen);
    first.waiting = !seen.is_settled;
    return first;
  }
  api::RoundsStatus rounds = *before;
  if (rounds.phase == kStopped) return rounds;
  if (!seen.is_settled) {
    rounds.waiting = true;
    return took_too_long(rounds, seen, rules) ? stopped(std::move(rounds), "NotSettled", seen) : rounds;
  }
  // The first round had to wait before moving anything, so it begins now.
  if (rounds.waiting && rounds.round == 1 && !rounds.planned_at) return begin_round({}, 1, seen);
  rounds.waiting = false;
  if (rounds.planned > 0 || !rounds.planned_at) return rounds;
  return after_half(std::move(rounds), seen, rules);
}

api::RoundsStatus after_half(api::RoundsStatus rounds, const RoundsSeen& seen, const strategies::RoundRules& rules) {
  rounds.planned = 0;
  if (rounds.phase == kPacking) return after_round(std::move(rounds), seen, rules);
  rounds.phase = kPacking;
  return rounds;
}

}  // namespace planner
