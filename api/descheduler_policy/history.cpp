#include "api/descheduler_policy/history.hpp"

#include <nlohmann/json.hpp>

#include "api/decision_row.hpp"
#include "api/json/lenient.hpp"

namespace api {
namespace {

template <typename F>
void for_each_row(const Json& json, const char* list, F&& read) {
  const Json* rows = lenient::array(json, list);
  if (rows == nullptr) return;
  for (const Json& row : *rows) {
    if (row.is_object()) read(row);
  }
}

PastCycle past_cycle_of(const Json& json) {
  PastCycle cycle;
  cycle.number = lenient::integer(json, "number");
  cycle.start = lenient::time_or_epoch(json, "start");
  cycle.nominated = lenient::small_integer(json, "nominated");
  cycle.created = lenient::small_integer(json, "created");
  for_each_row(json, "refused", [&](const Json& row) {
    cycle.refused.push_back({lenient::text(row, "reason"), lenient::small_integer(row, "count")});
  });
  cycle.left_out = lenient::small_integer(json, "leftOut");
  return cycle;
}

PastDecision past_decision_of(const Json& json) {
  PastDecision decision;
  read_decision_row(json, decision);
  decision.nominated = lenient::text(json, "decision") == "Nominated";
  decision.to = lenient::text(json, "to");
  if (const Json* cycles = lenient::array(json, "cycles")) {
    for (const Json& cycle : *cycles) {
      if (cycle.is_number_integer()) decision.cycles.push_back(cycle.get<std::int64_t>());
    }
  }
  return decision;
}

Json encode_past_cycle(const PastCycle& cycle) {
  Json json = {{"number", cycle.number},
               {"start", wire_time(cycle.start)},
               {"nominated", cycle.nominated},
               {"created", cycle.created}};
  for (const auto& [reason, count] : cycle.refused) json["refused"].push_back({{"reason", reason}, {"count", count}});
  if (cycle.left_out > 0) json["leftOut"] = cycle.left_out;
  return json;
}

RestartRecord restart_record_of(const Json& json) {
  RestartRecord record{lenient::text(json, "uid"), lenient::text(json, "container"), {}};
  for_each_row(json, "looks", [&](const Json& row) {
    if (const auto time = lenient::time(row, "time"))
      record.looks.push_back({*time, lenient::small_integer(row, "total")});
  });
  return record;
}

}  // namespace

PolicyHistory policy_history_of(const Json& status) {
  PolicyHistory history;
  const Json* json = lenient::object(status, "history");
  if (json == nullptr) return history;
  for_each_row(*json, "cycles", [&](const Json& row) { history.cycles.push_back(past_cycle_of(row)); });
  for_each_row(*json, "decisions", [&](const Json& row) { history.decisions.push_back(past_decision_of(row)); });
  return history;
}

std::vector<RestartRecord> restart_records_of(const Json& status) {
  std::vector<RestartRecord> records;
  for_each_row(status, "restarts", [&](const Json& row) { records.push_back(restart_record_of(row)); });
  return records;
}

Json encode_past_decision(const PastDecision& decision) {
  Json json = encode_decision_row(decision);
  json["decision"] = decision.nominated ? "Nominated" : "Refused";
  json["cycles"] = decision.cycles;
  put_text(json, "to", decision.to);
  return json;
}

void put_policy_history(Json& status, const PolicyHistory& history) {
  for (const PastCycle& cycle : history.cycles) status["history"]["cycles"].push_back(encode_past_cycle(cycle));
  for (const PastDecision& decision : history.decisions)
    status["history"]["decisions"].push_back(encode_past_decision(decision));
}

void put_restart_records(Json& status, const std::vector<RestartRecord>& records) {
  for (const auto& [uid, container, looks] : records) {
    Json rows = Json::array();
    for (const RestartObservation& look : looks)
      rows.push_back({{"time", wire_time(look.time)}, {"total", look.total}});
    status["restarts"].push_back({{"uid", uid}, {"container", container}, {"looks", std::move(rows)}});
  }
}

}  // namespace api
