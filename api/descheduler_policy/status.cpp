#include "api/descheduler_policy/status.hpp"

#include <nlohmann/json.hpp>

#include "api/json/fields.hpp"
#include "api/vocabulary/condition_types.hpp"

namespace api {

template <>
inline constexpr auto kFields<ReasonCount> =
    std::tuple{always("reason", &ReasonCount::reason), always("count", &ReasonCount::count)};

template <>
inline constexpr auto kFields<LastCycle> = std::tuple{always("id", &LastCycle::id),
                                                      always("start", &LastCycle::start),
                                                      always("duration", &LastCycle::duration),
                                                      always("nodes", &LastCycle::nodes),
                                                      always("pods", &LastCycle::pods),
                                                      always("nominated", &LastCycle::nominated),
                                                      always("created", &LastCycle::created),
                                                      field("waves", &LastCycle::waves),
                                                      field("nodesFreed", &LastCycle::nodes_freed),
                                                      field("nodesBound", &LastCycle::nodes_bound),
                                                      field("placementHints", &LastCycle::placement_hints),
                                                      field("refused", &LastCycle::refused)};

template <>
inline constexpr auto kFields<PlannedMove> =
    std::tuple{always("namespace", &PlannedMove::ns), always("pod", &PlannedMove::pod),
               always("uid", &PlannedMove::uid),      always("from", &PlannedMove::from),
               field("to", &PlannedMove::to),         always("strategy", &PlannedMove::strategy),
               field("reason", &PlannedMove::reason), field("score", &PlannedMove::score),
               field("wave", &PlannedMove::wave),     field("hint", &PlannedMove::hint)};

template <>
inline constexpr auto kFields<CooldownRecord> =
    std::tuple{always("subject", &CooldownRecord::subject), always("times", &CooldownRecord::times)};

template <>
inline constexpr auto kFields<PolicyCircuit> =
    std::tuple{always("failures", &PolicyCircuit::failures), field("lastFailure", &PolicyCircuit::last_failure),
               field("reset", &PolicyCircuit::reset), field("countedUntil", &PolicyCircuit::counted_until),
               field("openedAt", &PolicyCircuit::opened_at)};

template <>
inline constexpr auto kFields<PastCycle> =
    std::tuple{always("number", &PastCycle::number),       always("start", &PastCycle::start),
               always("nominated", &PastCycle::nominated), always("created", &PastCycle::created),
               field("refused", &PastCycle::refused),      field("leftOut", &PastCycle::left_out)};

/// Fields of RefusedPod and PastDecision.
template <typename Row>
inline constexpr auto kDecisionFields =
    std::tuple{always("namespace", &Row::ns),      always("pod", &Row::pod),          always("uid", &Row::uid),
               field("node", &Row::node),          field("strategy", &Row::strategy), field("reason", &Row::reason),
               field("message", &Row::message),    field("subject", &Row::subject),   field("wanted", &Row::wanted),
               field("available", &Row::available)};

template <>
inline constexpr auto kFields<RefusedPod> = kDecisionFields<RefusedPod>;

namespace {

void read_decision(const Json& json, bool& nominated) { nominated = json == "Nominated"; }
Json encode_decision(const bool& nominated) { return nominated ? "Nominated" : "Refused"; }

}  // namespace

template <>
inline constexpr auto kFields<PastDecision> = std::tuple_cat(
    kDecisionFields<PastDecision>,
    std::tuple{Field<PastDecision, bool>{"decision", &PastDecision::nominated, true, read_decision, encode_decision},
               always("cycles", &PastDecision::cycles), field("to", &PastDecision::to)});

template <>
inline constexpr auto kFields<PolicyHistory> =
    std::tuple{field("cycles", &PolicyHistory::cycles), field("decisions", &PolicyHistory::decisions)};

template <>
inline constexpr auto kFields<RestartObservation> =
    std::tuple{always("time", &RestartObservation::time), always("total", &RestartObservation::total)};

namespace {

/// Skips looks without a time.
void read_looks(const Json& json, std::vector<RestartObservation>& looks) {
  if (!json.is_array()) return;
  for (const Json& item : json) {
    if (base::parse_time(text_at(item, {"time"}))) lenient::read(item, looks.emplace_back());
  }
}

}  // namespace

template <>
inline constexpr auto kFields<RestartRecord> =
    std::tuple{always("uid", &RestartRecord::uid), always("container", &RestartRecord::container),
               Field<RestartRecord, std::vector<RestartObservation>>{"looks", &RestartRecord::looks, true, read_looks}};

template <>
inline constexpr auto kFields<Imbalance> =
    std::tuple{always("deviation", &Imbalance::deviation), always("peakToMean", &Imbalance::peak_to_mean)};

template <>
inline constexpr auto kFields<BalanceRow> =
    std::tuple{always("strategy", &BalanceRow::strategy), always("resource", &BalanceRow::resource),
               always("before", &BalanceRow::before),     always("after", &BalanceRow::after),
               always("state", &BalanceRow::state),       always("withoutGain", &BalanceRow::without_gain),
               always("best", &BalanceRow::best)};

template <>
inline constexpr auto kFields<DeschedulerPolicyStatus> =
    std::tuple{always("observedGeneration", &DeschedulerPolicyStatus::observed_generation),
               field("conditions", &DeschedulerPolicyStatus::conditions),
               field("lastCycle", &DeschedulerPolicyStatus::last_cycle),
               field("nextCycleTime", &DeschedulerPolicyStatus::next_cycle_time),
               always("active", &DeschedulerPolicyStatus::active),
               always("evicted", &DeschedulerPolicyStatus::evicted),
               field("evictedCounted", &DeschedulerPolicyStatus::evicted_counted),
               field("evictedUntil", &DeschedulerPolicyStatus::evicted_until),
               field("circuit", &DeschedulerPolicyStatus::circuit),
               field("plan", &DeschedulerPolicyStatus::plan, kMaxPublishedPlan),
               field("refusals", &DeschedulerPolicyStatus::refusals, kMaxPublishedRefusals),
               field("cooldowns", &DeschedulerPolicyStatus::cooldowns),
               field("restarts", &DeschedulerPolicyStatus::restarts),
               field("history", &DeschedulerPolicyStatus::history),
               field("balance", &DeschedulerPolicyStatus::balance, kMaxBalanceRows)};

namespace {

/// Encodes the status without members that are equal in `other`. nullptr encodes all.
Json encode_changed(const DeschedulerPolicyStatus& status, const DeschedulerPolicyStatus* other) {
  Json json = encode_fields(status, other);
  if (const Condition* ready = find_condition(status.conditions, ConditionType::kReady))
    json["ready"] = to_string(ready->status);
  if (status.plan_truncated || status.plan.size() > kMaxPublishedPlan) json["planTruncated"] = true;
  put_strategy_state(json, status.strategy_state);
  if (other == nullptr || status.node_classes != other->node_classes) put_node_classes(json, status.node_classes);
  return json;
}

}  // namespace

DeschedulerPolicyStatus policy_status_of(const Json& json) {
  DeschedulerPolicyStatus status;
  lenient::read(json, status);
  lenient::read(json, "planTruncated", status.plan_truncated);
  if (status.balance.size() > kMaxBalanceRows) status.balance.resize(kMaxBalanceRows);
  status.strategy_state = strategy_state_of(json);
  status.node_classes = node_classes_of(json);
  return status;
}

Json encode_refused_pod(const RefusedPod& refused) { return encode_fields(refused); }
Json encode_past_decision(const PastDecision& decision) { return encode_fields(decision); }

Json encode_status(const DeschedulerPolicyStatus& status) { return encode_changed(status, nullptr); }

std::pair<Json, Json> encode_change(const DeschedulerPolicyStatus& before, const DeschedulerPolicyStatus& after) {
  return {encode_changed(before, &after), encode_changed(after, &before)};
}

}  // namespace api
