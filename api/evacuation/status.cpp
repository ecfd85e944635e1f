#include "api/evacuation/status.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/json/lenient.hpp"
#include "api/vocabulary/blockers.hpp"
#include "api/wire_names.hpp"

namespace api {
namespace {

EvacuationIntent intent_of(const Json& json) {
  return {lenient::text(json, "action"),      lenient::text(json, "token"),  lenient::time_or_epoch(json, "time"),
          lenient::boolean(json, "resolved"), lenient::text(json, "result"), lenient::text(json, "preState")};
}

EvacuationAbort abort_of(const Json& json) {
  const auto next = parse_evacuation_phase(lenient::text(json, "next"));
  return {lenient::text(json, "reason"), next.value_or(EvacuationPhase::kCancelled),
          lenient::time_or_epoch(json, "startedAt")};
}

EvacuationOutcome outcome_of(const Json& json) {
  EvacuationOutcome outcome;
  outcome.kind = value_of(kOutcomeNames, lenient::text(json, "kind")).value_or(OutcomeKind::kEvicted);
  outcome.pod_deletion_timestamp = lenient::time(json, "podDeletionTimestamp");
  if (const Json* replacement = lenient::object(json, "replacement")) {
    outcome.replacement = EvacuationReplacement{lenient::text(*replacement, "name"),
                                                lenient::text(*replacement, "uid"),
                                                {lenient::text(*replacement, "node")},
                                                lenient::time(*replacement, "readyAt")};
  }
  return outcome;
}

PlacedPod placed_pod_of(const Json& json) { return {lenient::text(json, "podName"), lenient::text(json, "podUID")}; }

LastResponse last_response_of(const Json& json) {
  return {lenient::small_integer(json, "code"), lenient::text(json, "class"), lenient::text(json, "message"),
          lenient::time_or_epoch(json, "time")};
}

Blocker blocker_of(const Json& json) {
  return {lenient::text(json, "kind"),
          lenient::text(json, "name"),
          lenient::text(json, "message"),
          lenient::optional_integer(json, "disruptionsAllowed"),
          lenient::optional_integer(json, "currentHealthy"),
          lenient::optional_integer(json, "desiredHealthy"),
          lenient::time_or_epoch(json, "since")};
}

HistoryEntry history_entry_of(const Json& json) {
  return {lenient::time_or_epoch(json, "time"), lenient::text(json, "from"),    lenient::text(json, "to"),
          lenient::text(json, "reason"),        lenient::text(json, "message"), lenient::small_integer(json, "attempt"),
          lenient::text(json, "actor")};
}

std::vector<std::pair<std::string, std::string>> refs_of(const Json& json) {
  std::vector<std::pair<std::string, std::string>> refs;
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) refs.emplace_back(name, value.get<std::string>());
  }
  return refs;
}

template <typename T>
void read_list(const Json& json, std::string_view name, T (*read)(const Json&), std::vector<T>& to) {
  const Json* list = lenient::array(json, name);
  if (list == nullptr) return;
  for (const Json& item : *list) {
    if (item.is_object()) to.push_back(read(item));
  }
}

template <typename T>
void read_object(const Json& json, std::string_view name, T (*read)(const Json&), std::optional<T>& to) {
  if (const Json* found = lenient::object(json, name)) to = read(*found);
}

/// The members of the status that are optional times, with their names on the wire.
struct StatusTime {
  const char* name;
  std::optional<base::TimePoint> EvacuationStatus::*member;
};
constexpr std::array kStatusTimes = {StatusTime{"startedAt", &EvacuationStatus::started_at},
                                     StatusTime{"attemptStartedAt", &EvacuationStatus::attempt_started_at},
                                     StatusTime{"phaseEnteredAt", &EvacuationStatus::phase_entered_at},
                                     StatusTime{"inProgressSince", &EvacuationStatus::in_progress_since},
                                     StatusTime{"blockedSince", &EvacuationStatus::blocked_since},
                                     StatusTime{"deadline", &EvacuationStatus::deadline},
                                     StatusTime{"requestSentAt", &EvacuationStatus::request_sent_at},
                                     StatusTime{"lastHeartbeatAt", &EvacuationStatus::last_heartbeat_at},
                                     StatusTime{"queuedSince", &EvacuationStatus::queued_since},
                                     StatusTime{"expectedCompletionAt", &EvacuationStatus::expected_completion_at},
                                     StatusTime{"nextActionAt", &EvacuationStatus::next_action_at},
                                     StatusTime{"finishedAt", &EvacuationStatus::finished_at}};

/// The members that are texts; an empty one is not written.
struct StatusText {
  const char* name;
  std::string EvacuationStatus::*member;
};
constexpr std::array kStatusTexts = {StatusText{"reason", &EvacuationStatus::reason},
                                     StatusText{"message", &EvacuationStatus::message},
                                     StatusText{"evictor", &EvacuationStatus::evictor},
                                     StatusText{"adapter", &EvacuationStatus::adapter},
                                     StatusText{"token", &EvacuationStatus::token},
                                     StatusText{"specHash", &EvacuationStatus::spec_hash},
                                     StatusText{"workloadGroup", &EvacuationStatus::workload_group},
                                     StatusText{"group", &EvacuationStatus::group},
                                     StatusText{"lastHeartbeatValue", &EvacuationStatus::last_heartbeat_value}};

Json encode_intent(const EvacuationIntent& intent) {
  Json json = {{"action", intent.action},
               {"token", intent.token},
               {"time", wire_time(intent.time)},
               {"resolved", intent.resolved}};
  put_text(json, "result", intent.result);
  put_text(json, "preState", intent.pre_state);
  return json;
}

Json encode_outcome(const EvacuationOutcome& outcome) {
  Json json = {{"kind", to_string(outcome.kind)}};
  put_time(json, "podDeletionTimestamp", outcome.pod_deletion_timestamp);
  if (!outcome.replacement) return json;
  Json replacement = {{"name", outcome.replacement->name}, {"uid", outcome.replacement->uid}};
  put_text(replacement, "node", outcome.replacement->node.value);
  put_time(replacement, "readyAt", outcome.replacement->ready_at);
  json["replacement"] = std::move(replacement);
  return json;
}

Json encode_last_response(const LastResponse& response) {
  Json json = {{"code", response.code}, {"class", response.response_class}, {"time", wire_time(response.time)}};
  put_text(json, "message", response.message);
  return json;
}

Json encode_blocker(const Blocker& blocker) {
  Json json = {{"kind", blocker.kind}, {"since", wire_time(blocker.since)}};
  put_text(json, "name", blocker.name);
  put_text(json, "message", blocker.message);
  put_optional(json, "disruptionsAllowed", blocker.disruptions_allowed);
  put_optional(json, "currentHealthy", blocker.current_healthy);
  put_optional(json, "desiredHealthy", blocker.desired_healthy);
  return json;
}

Json encode_history_entry(const HistoryEntry& entry) {
  Json json = Json::object();
  json["time"] = wire_time(entry.time);
  json["to"] = entry.to;
  put_text(json, "from", entry.from);
  put_text(json, "reason", entry.reason);
  put_text(json, "message", entry.message);
  if (entry.attempt != 0) json["attempt"] = entry.attempt;
  put_text(json, "actor", entry.actor);
  return json;
}

/// One blocker for a table cell: "pdb/web (0 allowed, 3/3 healthy)", "limit/node", "suspended".
std::string short_blocker(const Blocker& blocker) {
  const std::string kind = column_text(blocker.kind);
  std::string text = blocker.name.empty() ? kind : kind + "/" + blocker.name;
  if (blocker.disruptions_allowed && blocker.current_healthy && blocker.desired_healthy) {
    text += fmt::format(" ({} allowed, {}/{} healthy)", *blocker.disruptions_allowed, *blocker.current_healthy,
                        *blocker.desired_healthy);
  }
  return text;
}

/// Texts for the printer columns, derived from the rest: servers down to 1.20 print simple paths only.
void put_column_texts(const EvacuationStatus& status, Json& json) {
  if (status.deadline) json["deadlineText"] = base::format_time(*status.deadline);
  if (status.progress) json["progressText"] = fmt::format("{}%", *status.progress);
  const bool replaced = status.outcome && status.outcome->replacement;
  put_text(json, "target", replaced ? status.outcome->replacement->node.value : status.target_node.value);
  std::string blocked;
  for (const Blocker& blocker : status.blocked_by) blocked += (blocked.empty() ? "" : "; ") + short_blocker(blocker);
  put_text(json, "blockedBySummary", blocked);
}

/// All but history and conditions. `other`: what it says as well is left out; nullptr: nothing is.
Json encode_all_but_lists(const EvacuationStatus& status, const EvacuationStatus* other) {
  using Status = EvacuationStatus;
  const auto is_news = [&](auto Status::*member) { return other == nullptr || status.*member != other->*member; };
  Json json = Json::object();
  json["phase"] = to_string(status.phase);
  json["observedGeneration"] = status.observed_generation;
  for (const StatusText& field : kStatusTexts) {
    if (is_news(field.member)) put_text(json, field.name, status.*field.member);
  }
  for (const StatusTime& field : kStatusTimes) {
    if (is_news(field.member)) put_time(json, field.name, status.*field.member);
  }
  json["evictorIndex"] = status.evictor_index;
  json["attempt"] = status.attempt;
  if (status.signed_priority) json["signedPriority"] = *status.signed_priority;
  if (status.pod_owner && is_news(&Status::pod_owner)) json["podOwner"] = encode_owner(*status.pod_owner);
  put_optional(json, "progress", status.progress);
  if (status.blocked_count != 0) json["blockedCount"] = status.blocked_count;
  if (status.granted_without_delete != 0) json["grantedWithoutDelete"] = status.granted_without_delete;
  if (status.remote_failures != 0) json["remoteFailures"] = status.remote_failures;
  put_text(json, "targetNode", status.target_node.value);
  if (is_news(&Status::refs)) {
    for (const auto& [name, value] : status.refs) json["refs"][name] = value;
  }
  if (status.intent && is_news(&Status::intent)) json["intent"] = encode_intent(*status.intent);
  if (status.abort) {
    json["abort"] = {{"reason", status.abort->reason},
                     {"next", to_string(status.abort->next)},
                     {"startedAt", wire_time(status.abort->started_at)}};
  }
  if (status.outcome && is_news(&Status::outcome)) json["outcome"] = encode_outcome(*status.outcome);
  if (status.placement) json["placement"] = {{"podName", status.placement->name}, {"podUID", status.placement->uid}};
  if (status.last_response && is_news(&Status::last_response))
    json["lastResponse"] = encode_last_response(*status.last_response);
  for (const Blocker& blocker : status.blocked_by) json["blockedBy"].push_back(encode_blocker(blocker));
  put_column_texts(status, json);
  return json;
}

void encode_history(const std::vector<HistoryEntry>& history, Json& json) {
  for (const HistoryEntry& entry : history) json["history"].push_back(encode_history_entry(entry));
}

}  // namespace

EvacuationStatus evacuation_status_of(const Json& json) {
  EvacuationStatus status;
  status.phase = parse_evacuation_phase(lenient::text(json, "phase")).value_or(EvacuationPhase::kPending);
  for (const StatusText& field : kStatusTexts) status.*field.member = lenient::text(json, field.name);
  for (const StatusTime& field : kStatusTimes) status.*field.member = lenient::time(json, field.name);
  status.observed_generation = lenient::integer(json, "observedGeneration");
  status.evictor_index = lenient::small_integer(json, "evictorIndex");
  status.attempt = lenient::small_integer(json, "attempt");
  if (json.contains("signedPriority")) status.signed_priority = lenient::small_integer(json, "signedPriority");
  status.pod_owner = lenient::owner(json, "podOwner");
  status.progress = lenient::optional_integer(json, "progress");
  status.blocked_count = lenient::small_integer(json, "blockedCount");
  status.granted_without_delete = lenient::small_integer(json, "grantedWithoutDelete");
  status.remote_failures = lenient::small_integer(json, "remoteFailures");
  status.target_node = {lenient::text(json, "targetNode")};
  if (const Json* refs = lenient::object(json, "refs")) status.refs = refs_of(*refs);
  read_object(json, "intent", intent_of, status.intent);
  read_object(json, "abort", abort_of, status.abort);
  read_object(json, "outcome", outcome_of, status.outcome);
  read_object(json, "placement", placed_pod_of, status.placement);
  read_object(json, "lastResponse", last_response_of, status.last_response);
  read_list(json, "blockedBy", blocker_of, status.blocked_by);
  read_list(json, "history", history_entry_of, status.history);
  status.conditions = lenient::conditions(json);
  return status;
}

Json encode_status(const EvacuationStatus& status) {
  Json json = encode_all_but_lists(status, nullptr);
  encode_history(status.history, json);
  if (!status.conditions.empty()) json["conditions"] = encode_conditions(status.conditions);
  return json;
}

std::pair<Json, Json> encode_change(const EvacuationStatus& before, const EvacuationStatus& after) {
  Json was = encode_all_but_lists(before, &after);
  Json is = encode_all_but_lists(after, &before);
  if (before.history != after.history) {
    if (!before.history.empty()) was["history"] = nullptr;
    encode_history(after.history, is);
  }
  if (before.conditions != after.conditions) {
    if (!before.conditions.empty()) was["conditions"] = nullptr;
    if (!after.conditions.empty()) is["conditions"] = encode_conditions(after.conditions);
  }
  return {std::move(was), std::move(is)};
}

}  // namespace api
