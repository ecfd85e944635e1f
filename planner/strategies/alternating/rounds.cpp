#include "planner/strategies/alternating/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/json/json_access.hpp"
#include "api/vocabulary/reasons.hpp"

namespace strategies {
namespace {

constexpr double kMinDifference = 1;       // minimum change of the imbalance, in points
constexpr double kPartOfImbalance = 0.25;  // share of the imbalance at the stop

void take_baseline(Rounds& rounds, const CycleFacts& seen) {
  rounds.nodes = seen.nodes;
  rounds.nodes_in_use = seen.nodes_in_use;
  rounds.imbalance = seen.imbalance;
}

Rounds begin_round(Rounds rounds, std::int32_t round, const CycleFacts& seen) {
  rounds.round = round;
  rounds.phase = kLeveling;
  rounds.moved = 0;
  rounds.planned = 0;
  take_baseline(rounds, seen);
  return rounds;
}

Rounds stopped(Rounds rounds, std::string_view reason, const CycleFacts& seen) {
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
bool is_another(const Rounds& then, const CycleFacts& now) {
  return (now.nodes > then.nodes && are_others(then.nodes, now.nodes)) ||
         are_others(then.nodes_in_use, now.nodes_in_use) ||
         std::abs(then.imbalance - now.imbalance) > std::max(kMinDifference, kPartOfImbalance * then.imbalance);
}

bool took_too_long(const Rounds& rounds, const CycleFacts& seen, const RoundRules& rules) {
  return seen.may_time_out && rounds.planned_at && seen.now - *rounds.planned_at > rules.settle_timeout;
}

/// Number of nodes freed in the round. Nodes that were added or removed meanwhile are not attributed to the round.
std::int32_t freed_in(const Rounds& rounds, const CycleFacts& seen) {
  return std::max(rounds.nodes_in_use - seen.nodes_in_use, 0);
}

bool has_gained(const Rounds& rounds, const CycleFacts& seen, const RoundRules& rules) {
  if (rules.min_freed && freed_in(rounds, seen) >= *rules.min_freed) return true;
  return rules.min_imbalance_gain && rounds.imbalance - seen.imbalance >= *rules.min_imbalance_gain;
}

Rounds after_round(Rounds rounds, const CycleFacts& seen, const RoundRules& rules) {
  if (rounds.moved == 0) return stopped(std::move(rounds), "Converged", seen);
  const bool gained = has_gained(rounds, seen, rules);
  rounds.nodes_freed += freed_in(rounds, seen);
  if (!gained) return stopped(std::move(rounds), "NoProgress", seen);
  if (rounds.round >= rules.max_rounds) return stopped(std::move(rounds), "MaxRounds", seen);
  const std::int32_t next = rounds.round + 1;
  return begin_round(std::move(rounds), next, seen);
}

std::string summary(const Rounds& rounds, const RoundRules& rules, std::string_view strategy) {
  return fmt::format("{}: round {} of {} at most, {}", strategy, rounds.round, rules.max_rounds, rounds.phase);
}

std::string running_text(const Rounds& rounds, const RoundRules& rules, std::string_view strategy,
                         std::int32_t active) {
  if (!rounds.waiting) return fmt::format("{}: {} pods should move", summary(rounds, rules, strategy), rounds.planned);
  if (active > 0)
    return fmt::format("{}: waits for {} unfinished Evacuations of the policy", summary(rounds, rules, strategy),
                       active);
  return summary(rounds, rules, strategy) + ": waits until pods of moved workloads have a node";
}

std::string stopped_text(const Rounds& rounds, const RoundRules& rules, std::string_view strategy) {
  const std::string done = fmt::format(
      "{} nodes are in use, {} were freed; it starts again when the number of nodes in use or of all nodes changes by "
      "a tenth, or the imbalance of {:.1f} points changes",
      rounds.nodes_in_use, rounds.nodes_freed, rounds.imbalance);
  const auto text = [&](std::string_view why) {
    return fmt::format("{} stopped in round {}: {}; {}", strategy, rounds.round, why, done);
  };
  if (rounds.reason == api::Reason::kConverged) return text("no moves remain");
  if (rounds.reason == api::Reason::kMaxRounds) return text("maxRounds is reached");
  if (rounds.reason == api::Reason::kNotSettled)
    return text(fmt::format("its moves have not settled within {}, settleTimeout",
                            base::format_duration(rules.settle_timeout)));
  return text(fmt::format("it moved {} pods and gained less than minGain", rounds.moved));
}

/// Returns a count of untrusted state, bounded so that the sum of two counts fits.
std::int32_t count_at(const api::Json& json, std::string_view name) {
  constexpr std::int64_t kMaxCount = 1'000'000'000;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(api::number_at(json, {name}).value_or(0), 0, kMaxCount));
}

}  // namespace

std::optional<Rounds> read_rounds(std::string_view state) {
  const auto json = api::parse_json(state);
  if (!json || !json->is_object()) return std::nullopt;
  Rounds rounds;
  rounds.phase = api::text_at(*json, {"phase"});
  if (rounds.phase != kLeveling && rounds.phase != kPacking && rounds.phase != kStopped) return std::nullopt;
  rounds.round = std::max(count_at(*json, "round"), 1);
  rounds.reason = api::text_at(*json, {"reason"});
  rounds.waiting = api::flag_at(*json, {"waiting"});
  rounds.planned = count_at(*json, "planned");
  rounds.moved = count_at(*json, "moved");
  rounds.nodes = count_at(*json, "nodes");
  rounds.nodes_in_use = count_at(*json, "nodesInUse");
  const api::Json* imbalance = api::find_at(*json, {"imbalance"});
  if (imbalance && imbalance->is_number()) rounds.imbalance = imbalance->get<double>();
  rounds.nodes_freed = count_at(*json, "nodesFreed");
  if (const auto time = base::parse_time(api::text_at(*json, {"plannedAt"}))) rounds.planned_at = *time;
  return rounds;
}

std::string to_state(const Rounds& rounds, std::string_view strategy) {
  api::Json json = {{"strategy", strategy},          {"round", rounds.round},
                    {"phase", rounds.phase},         {"waiting", rounds.waiting},
                    {"planned", rounds.planned},     {"moved", rounds.moved},
                    {"nodes", rounds.nodes},         {"nodesInUse", rounds.nodes_in_use},
                    {"imbalance", rounds.imbalance}, {"nodesFreed", rounds.nodes_freed}};
  if (!rounds.reason.empty()) json["reason"] = rounds.reason;
  if (rounds.planned_at) json["plannedAt"] = base::format_time(*rounds.planned_at);
  return api::to_json_text(json);
}

Rounds next_rounds(const std::optional<Rounds>& before, const CycleFacts& seen, const RoundRules& rules) {
  const bool begins = !before || (before->phase == kStopped && seen.is_settled && is_another(*before, seen));
  if (begins) {
    Rounds first = begin_round({}, 1, seen);
    first.waiting = !seen.is_settled;
    return first;
  }
  Rounds rounds = *before;
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

Rounds after_half(Rounds rounds, const CycleFacts& seen, const RoundRules& rules) {
  rounds.planned = 0;
  if (rounds.phase == kPacking) return after_round(std::move(rounds), seen, rules);
  rounds.phase = kPacking;
  return rounds;
}

MultiCycle::Report report_of(const Rounds& rounds, const RoundRules& rules, std::string_view strategy,
                             std::int32_t active) {
  if (rounds.phase != kStopped)
    return {false, std::string(to_string(api::Reason::kRoundRunning)), running_text(rounds, rules, strategy, active)};
  return {rounds.reason == api::Reason::kConverged, rounds.reason, stopped_text(rounds, rules, strategy)};
}

}  // namespace strategies
