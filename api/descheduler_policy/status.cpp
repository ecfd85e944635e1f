#include "api/descheduler_policy/status.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/decision_row.hpp"
#include "api/descheduler_policy/history.hpp"
#include "api/json/lenient.hpp"
#include "api/vocabulary/condition_types.hpp"

namespace api {
namespace {

LastCycle last_cycle_of(const Json& json) {
  LastCycle cycle;
  cycle.id = lenient::text(json, "id");
  cycle.start = lenient::time_or_epoch(json, "start");
  const auto duration = base::parse_duration(lenient::text(json, "duration"));
  cycle.duration = std::chrono::duration_cast<base::milliseconds>(duration.value_or(base::Duration::zero()));
  cycle.nodes = lenient::small_integer(json, "nodes");
  cycle.pods = lenient::small_integer(json, "pods");
  cycle.nominated = lenient::small_integer(json, "nominated");
  cycle.created = lenient::small_integer(json, "created");
  cycle.waves = lenient::small_integer(json, "waves");
  cycle.nodes_freed = lenient::optional_integer(json, "nodesFreed");
  cycle.nodes_bound = lenient::optional_integer(json, "nodesBound");
  cycle.placement_hints = lenient::boolean(json, "placementHints");
  if (const Json* refused = lenient::array(json, "refused")) {
    for (const Json& item : *refused) {
      if (item.is_object())
        cycle.refused.push_back({lenient::text(item, "reason"), lenient::small_integer(item, "count")});
    }
  }
  return cycle;
}

PlannedMove planned_move_of(const Json& json) {
  return {lenient::text(json, "namespace"), lenient::text(json, "pod"),     lenient::text(json, "uid"),
          lenient::text(json, "from"),      lenient::text(json, "to"),      lenient::text(json, "strategy"),
          lenient::text(json, "reason"),    lenient::number(json, "score"), lenient::small_integer(json, "wave"),
          lenient::text(json, "hint")};
}

RefusedPod refused_pod_of(const Json& json) {
  RefusedPod refused;
  read_decision_row(json, refused);
  return refused;
}

CooldownRecord cooldown_record_of(const Json& json) {
  CooldownRecord record{lenient::text(json, "subject"), {}};
  if (const Json* times = lenient::array(json, "times")) {
    for (const Json& item : *times) {
      const auto time = item.is_string() ? base::parse_time(item.get_ref<const std::string&>()) : std::nullopt;
      if (time) record.times.push_back(*time);
    }
  }
  return record;
}

PolicyCircuit circuit_of(const Json& json) {
  return {lenient::small_integer(json, "failures"), lenient::text(json, "lastFailure"), lenient::text(json, "reset"),
          lenient::time(json, "countedUntil"), lenient::time(json, "openedAt")};
}

Json encode_circuit(const PolicyCircuit& circuit) {
  Json json = {{"failures", circuit.failures}};
  put_text(json, "lastFailure", circuit.last_failure);
  put_text(json, "reset", circuit.reset);
  put_time(json, "countedUntil", circuit.counted_until);
  put_time(json, "openedAt", circuit.opened_at);
  return json;
}

Json encode_last_cycle(const LastCycle& cycle) {
  Json json = {{"id", cycle.id},
               {"start", wire_time(cycle.start)},
               {"duration", base::format_duration(cycle.duration)},
               {"nodes", cycle.nodes},
               {"pods", cycle.pods},
               {"nominated", cycle.nominated},
               {"created", cycle.created}};
  if (cycle.waves > 0) json["waves"] = cycle.waves;
  put_optional(json, "nodesFreed", cycle.nodes_freed);
  put_optional(json, "nodesBound", cycle.nodes_bound);
  if (cycle.placement_hints) json["placementHints"] = true;
  for (const auto& [reason, count] : cycle.refused) json["refused"].push_back({{"reason", reason}, {"count", count}});
  return json;
}

Json encode_planned_move(const PlannedMove& move) {
  Json json = {
      {"namespace", move.ns}, {"pod", move.pod}, {"uid", move.uid}, {"from", move.from}, {"strategy", move.strategy}};
  put_text(json, "to", move.to);
  put_text(json, "reason", move.reason);
  put_optional(json, "score", move.score);
  if (move.wave > 0) json["wave"] = move.wave;
  put_text(json, "hint", move.hint);
  return json;
}

void put_plan(Json& json, const std::vector<PlannedMove>& plan) {
  const std::size_t rows = std::min(plan.size(), kMaxPublishedPlan);
  for (std::size_t i = 0; i < rows; ++i) json["plan"].push_back(encode_planned_move(plan[i]));
}

void put_cooldowns(Json& json, const std::vector<CooldownRecord>& cooldowns) {
  for (const CooldownRecord& record : cooldowns) {
    Json times = Json::array();
    for (const base::TimePoint time : record.times) times.push_back(wire_time(time));
    json["cooldowns"].push_back({{"subject", record.subject}, {"times", std::move(times)}});
  }
}

void put_refusals(Json& json, const std::vector<RefusedPod>& refusals) {
  const std::size_t rows = std::min(refusals.size(), kMaxPublishedRefusals);
  for (std::size_t i = 0; i < rows; ++i) json["refusals"].push_back(encode_refused_pod(refusals[i]));
}

/// Encodes the status without lists that are equal in `other`. nullptr encodes all.
Json encode_changed(const DeschedulerPolicyStatus& status, const DeschedulerPolicyStatus* other) {
  using Status = DeschedulerPolicyStatus;
  const auto is_news = [&](auto Status::*member) { return other == nullptr || status.*member != other->*member; };
  Json json = {
      {"observedGeneration", status.observed_generation}, {"active", status.active}, {"evicted", status.evicted}};
  if (!status.conditions.empty()) json["conditions"] = encode_conditions(status.conditions);
  if (const Condition* ready = find_condition(status.conditions, ConditionType::kReady))
    json["ready"] = to_string(ready->status);
  if (status.last_cycle) json["lastCycle"] = encode_last_cycle(*status.last_cycle);
  put_time(json, "nextCycleTime", status.next_cycle_time);
  if (status.evicted_counted != 0) json["evictedCounted"] = status.evicted_counted;
  put_time(json, "evictedUntil", status.evicted_until);
  if (status.circuit != PolicyCircuit{}) json["circuit"] = encode_circuit(status.circuit);
  if (is_news(&Status::plan)) put_plan(json, status.plan);
  if (is_news(&Status::cooldowns)) put_cooldowns(json, status.cooldowns);
  if (status.plan_truncated || status.plan.size() > kMaxPublishedPlan) json["planTruncated"] = true;
  if (is_news(&Status::refusals)) put_refusals(json, status.refusals);
  if (is_news(&Status::restarts)) put_restart_records(json, status.restarts);
  if (is_news(&Status::history)) put_policy_history(json, status.history);
  put_balance_rows(json, status.balance);
  put_strategy_state(json, status.strategy_state);
  if (is_news(&Status::node_classes)) put_node_classes(json, status.node_classes);
  return json;
}

}  // namespace

DeschedulerPolicyStatus policy_status_of(const Json& json) {
  DeschedulerPolicyStatus status;
  status.observed_generation = lenient::integer(json, "observedGeneration");
  status.conditions = lenient::conditions(json);
  if (const Json* cycle = lenient::object(json, "lastCycle")) status.last_cycle = last_cycle_of(*cycle);
  status.next_cycle_time = lenient::time(json, "nextCycleTime");
  status.active = lenient::small_integer(json, "active");
  status.evicted = lenient::integer(json, "evicted");
  status.evicted_counted = lenient::integer(json, "evictedCounted");
  status.evicted_until = lenient::time(json, "evictedUntil");
  if (const Json* circuit = lenient::object(json, "circuit")) status.circuit = circuit_of(*circuit);
  if (const Json* plan = lenient::array(json, "plan")) {
    for (const Json& item : *plan) {
      if (item.is_object()) status.plan.push_back(planned_move_of(item));
    }
  }
  status.plan_truncated = lenient::boolean(json, "planTruncated");
  if (const Json* refusals = lenient::array(json, "refusals")) {
    for (const Json& item : *refusals) {
      if (item.is_object()) status.refusals.push_back(refused_pod_of(item));
    }
  }
  if (const Json* cooldowns = lenient::array(json, "cooldowns")) {
    for (const Json& item : *cooldowns) {
      if (item.is_object()) status.cooldowns.push_back(cooldown_record_of(item));
    }
  }
  status.restarts = restart_records_of(json);
  status.history = policy_history_of(json);
  status.balance = balance_rows_of(json);
  status.strategy_state = strategy_state_of(json);
  status.node_classes = node_classes_of(json);
  return status;
}

Json encode_refused_pod(const RefusedPod& refused) { return encode_decision_row(refused); }

Json encode_status(const DeschedulerPolicyStatus& status) { return encode_changed(status, nullptr); }

std::pair<Json, Json> encode_change(const DeschedulerPolicyStatus& before, const DeschedulerPolicyStatus& after) {
  return {encode_changed(before, &after), encode_changed(after, &before)};
}

}  // namespace api
