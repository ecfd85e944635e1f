#include "api/evacuation/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/evacuation/refs.hpp"
#include "api/json/lenient.hpp"
#include "api/vocabulary/blockers.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
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

Json encode_intent(const EvacuationIntent& intent) {
  Json json = {{"action", intent.action},
               {"token", intent.token},
               {"time", wire_time(intent.time)},
               {"resolved", intent.resolved}};
  put_text(json, "result", intent.result);
  put_text(json, "preState", intent.pre_state);
  return json;
}

Json encode_abort(const EvacuationAbort& abort) {
  return {{"reason", abort.reason}, {"next", to_string(abort.next)}, {"startedAt", wire_time(abort.started_at)}};
}

Json encode_placed_pod(const PlacedPod& pod) { return {{"podName", pod.name}, {"podUID", pod.uid}}; }

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

/// Returns one blocker for a table cell: "pdb/web (0 allowed, 3/3 healthy)", "limit/node", "suspended".
std::string short_blocker(const Blocker& blocker) {
  const std::string kind = column_text(blocker.kind);
  std::string text = blocker.name.empty() ? kind : kind + "/" + blocker.name;
  if (blocker.disruptions_allowed && blocker.current_healthy && blocker.desired_healthy) {
    text += fmt::format(" ({} allowed, {}/{} healthy)", *blocker.disruptions_allowed, *blocker.current_healthy,
                        *blocker.desired_healthy);
  }
  return text;
}

/// Returns true if targetNode is only the node with reserved capacity, because the owner of the pod has not chosen a
/// node.
bool is_only_reserved(const EvacuationStatus& status) {
  const Condition* slot = find_condition(status.conditions, ConditionType::kSlotAcquired);
  if (!slot || slot->reason != Reason::kCapacityReserved) return false;
  return std::ranges::none_of(status.refs, [](const auto& ref) { return ref.first == kChosenTargetRef; });
}

/// Returns the node that the pod goes to or went to, empty if unknown.
const std::string& target_of(const EvacuationStatus& status) {
  static const std::string kNone;
  const bool replaced = status.outcome && status.outcome->replacement;
  if (replaced) return status.outcome->replacement->node.value;
  return is_only_reserved(status) ? kNone : status.target_node.value;
}

std::string summary_of(const std::vector<Blocker>& blockers) {
  std::string summary;
  for (const Blocker& blocker : blockers) summary += (summary.empty() ? "" : "; ") + short_blocker(blocker);
  return summary;
}

/// Encodes everything except history and conditions. Members that equal those of `other` are left out; nullptr leaves
/// out nothing.
class StatusEncoder {
 public:
  StatusEncoder(const EvacuationStatus& status, const EvacuationStatus* other) : status_(status), other_(other) {}

  Json encode() {
    put_plain();
    put_counts();
    put_objects();
    put_column_texts();
    return std::move(json_);
  }

 private:
  using Status = EvacuationStatus;

  template <typename T>
  bool is_news(T Status::*member) const {
    return other_ == nullptr || status_.*member != other_->*member;
  }

  void put_plain() {
    if (is_news(&Status::phase)) json_["phase"] = to_string(status_.phase);
    for (const StatusText& field : kStatusTexts) {
      if (is_news(field.member)) put_text(json_, field.name.data(), status_.*field.member);
    }
    for (const StatusTime& field : kStatusTimes) {
      if (is_news(field.member)) put_time(json_, field.name.data(), status_.*field.member);
    }
    if (is_news(&Status::target_node)) put_text(json_, "targetNode", status_.target_node.value);
  }

  void put_counts() {
    if (is_news(&Status::observed_generation)) json_["observedGeneration"] = status_.observed_generation;
    if (is_news(&Status::evictor_index)) json_["evictorIndex"] = status_.evictor_index;
    if (is_news(&Status::attempt)) json_["attempt"] = status_.attempt;
    if (is_news(&Status::signed_priority)) put_optional(json_, "signedPriority", status_.signed_priority);
    if (is_news(&Status::progress)) put_optional(json_, "progress", status_.progress);
    put_unless_zero("blockedCount", &Status::blocked_count);
    put_unless_zero("grantedWithoutDelete", &Status::granted_without_delete);
    put_unless_zero("remoteFailures", &Status::remote_failures);
  }

  void put_unless_zero(const char* name, std::int32_t Status::*member) {
    if (status_.*member != 0 && is_news(member)) json_[name] = status_.*member;
  }

  void put_objects() {
    put_object("podOwner", &Status::pod_owner, encode_owner);
    put_object("intent", &Status::intent, encode_intent);
    put_object("abort", &Status::abort, encode_abort);
    put_object("outcome", &Status::outcome, encode_outcome);
    put_object("placement", &Status::placement, encode_placed_pod);
    put_object("lastResponse", &Status::last_response, encode_last_response);
    if (is_news(&Status::refs)) {
      for (const auto& [name, value] : status_.refs) json_["refs"][name] = value;
    }
    if (!is_news(&Status::blocked_by)) return;
    for (const Blocker& blocker : status_.blocked_by) json_["blockedBy"].push_back(encode_blocker(blocker));
  }

  template <typename T>
  void put_object(const char* name, std::optional<T> Status::*member, Json (*to_json)(const T&)) {
    if (status_.*member && is_news(member)) json_[name] = to_json(*(status_.*member));
  }

  /// Adds derived texts for printer columns, because servers down to 1.20 support simple paths only.
  void put_column_texts() {
    if (status_.deadline && is_news(&Status::deadline)) json_["deadlineText"] = base::format_time(*status_.deadline);
    if (status_.progress && is_news(&Status::progress)) json_["progressText"] = fmt::format("{}%", *status_.progress);
    if (other_ == nullptr || target_of(status_) != target_of(*other_)) put_text(json_, "target", target_of(status_));
    if (is_news(&Status::blocked_by)) put_text(json_, "blockedBySummary", summary_of(status_.blocked_by));
  }

  const EvacuationStatus& status_;
  const EvacuationStatus* other_;
  Json json_ = Json::object();
};

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
  Json json = StatusEncoder(status, nullptr).encode();
  encode_history(status.history, json);
  if (!status.conditions.empty()) json["conditions"] = encode_conditions(status.conditions);
  return json;
}

std::pair<Json, Json> encode_change(const EvacuationStatus& before, const EvacuationStatus& after) {
  Json was = StatusEncoder(before, &after).encode();
  Json is = StatusEncoder(after, &before).encode();
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
