#include "api/evacuation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "api/evacuation_parts.hpp"
#include "api/json/lenient.hpp"
#include "api/meta/names.hpp"
#include "api/meta/well_known.hpp"
#include "api/vocabulary/blockers.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/wire_names.hpp"

namespace api {
namespace {

void read_placement(StrictObject& object, PlacementHint& hint) {
  object.read("nodeName", hint.node_name.value);
  object.read("policy", kPlacementNames, hint.policy);
  object.read("expiresAfterSeconds", hint.expires_after);
}

EvacuationSpec read_evacuation_spec(const Json& json, FieldErrors& errors) {
  EvacuationSpec spec;
  StrictObject object(json, FieldPath("spec"), errors);
  object.with("podRef", [&](StrictObject& ref) {
    ref.read("name", spec.pod_ref.name);
    ref.read("uid", spec.pod_ref.uid.value);
  });
  object.read("nodeName", spec.node_name.value);
  object.read("reason", spec.reason);
  object.with("source", [&](StrictObject& source) {
    source.read("policy", spec.source.policy);
    source.read("strategy", spec.source.strategy);
    source.read("requester", spec.source.requester);
  });
  read_shared_parts(object, shared_parts(spec));
  object.read("concurrencyGroup", spec.concurrency_group);
  object.read("suspend", spec.suspend);
  object.read("dryRun", spec.dry_run);
  object.with("cancel", [&](StrictObject& cancel) {
    cancel.read("requested", spec.cancel.requested);
    cancel.read("reason", spec.cancel.reason);
  });
  object.with("placement", [&](StrictObject& placement) { read_placement(placement, spec.placement.emplace()); });
  object.finish();
  return spec;
}

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

}  // namespace

std::string_view to_string(EvacuationPhase phase) { return name_of(kPhaseNames, phase); }
std::string_view to_string(OnTimeout action) { return name_of(kOnTimeoutNames, action); }
std::string_view to_string(HoldSlotUntil hold) { return name_of(kHoldSlotNames, hold); }
std::string_view to_string(PlacementPolicy policy) { return name_of(kPlacementNames, policy); }
std::string_view to_string(OutcomeKind kind) { return name_of(kOutcomeNames, kind); }

std::optional<EvacuationPhase> parse_evacuation_phase(std::string_view text) { return value_of(kPhaseNames, text); }

bool is_terminal(EvacuationPhase phase) {
  return phase == EvacuationPhase::kSucceeded || phase == EvacuationPhase::kFailed ||
         phase == EvacuationPhase::kCancelled;
}

std::string Evacuation::current_token() const { return fmt::format("{}.{}", meta.uid, status.attempt); }

bool origin_is_verified(const Evacuation& evacuation) {
  return is_true(evacuation.status.conditions, ConditionType::kOriginVerified);
}

std::string evacuation_name(std::string_view pod_name, const PodUid& uid) {
  std::string suffix;  // of a real UID: 8 hex digits
  for (const char c : uid.value.substr(0, 8)) {
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (is_dns_label(std::string_view(&lower, 1)) || (lower == '-' && !suffix.empty())) suffix.push_back(lower);
  }
  while (suffix.ends_with('-')) suffix.pop_back();
  if (suffix.empty()) suffix = "0";
  std::string_view head = pod_name.substr(0, bounds::kMaxName - suffix.size() - 1);
  while (head.ends_with('.') || head.ends_with('-')) head.remove_suffix(1);  // "a.-1f" would be no DNS name
  return fmt::format("{}-{}", head, suffix);
}

std::string placement_mark(const Evacuation& evacuation) {
  const PlacementHint& hint = *evacuation.spec.placement;
  return fmt::format("{}/{}/{}/{}", evacuation.meta.name, evacuation.meta.uid, to_string(hint.policy),
                     hint.node_name.value);
}

base::Result<Evacuation> decode_evacuation(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return json.error().during("decoding an Evacuation");
  return decode_evacuation(*json);
}

base::Result<Evacuation> decode_evacuation(const Json& json) {
  if (!json.is_object()) return base::invalid(fmt::format("an Evacuation must be an object, not {}", kind_of(json)));
  FieldErrors errors;
  Evacuation evacuation;
  evacuation.meta = lenient::meta(json);
  const auto spec = json.find("spec");
  if (spec != json.end()) evacuation.spec = read_evacuation_spec(*spec, errors);
  if (!errors.empty()) return to_error(errors);
  if (const Json* status = lenient::object(json, "status")) evacuation.status = evacuation_status_of(*status);
  return evacuation;
}

namespace {

bool spec_decodes(const Json& spec) {
  Json probe = Json::object();
  probe["spec"] = spec;
  return decode_evacuation(probe).ok();
}

/// Of podRef what can be read. null: not even which pod it is about.
Json readable_pod_reference(const Json& spec) {
  Json start = {{"podRef", Json::object()}};
  const Json* pod = lenient::object(spec, "podRef");
  for (const char* field : {"name", "uid"}) {
    if (pod != nullptr && pod->contains(field) && (*pod)[field].is_string()) start["podRef"][field] = (*pod)[field];
  }
  return spec_decodes(start) ? start : Json();
}

}  // namespace

base::Result<Evacuation> decode_stored_evacuation(const Json& json) {
  auto decoded = decode_evacuation(json);
  if (decoded || !json.is_object()) return decoded;
  const Json spec = json.value("spec", Json());
  Json start = readable_pod_reference(spec);
  Json rest = json;
  if (start.is_null()) {
    rest.erase("spec");
  } else {
    rest["spec"] = lenient::readable_spec(spec, std::move(start), spec_decodes);
  }
  auto readable = decode_evacuation(rest);
  if (readable) readable->spec_problem = decoded.error().message;
  return readable;
}

Json encode_spec(const EvacuationSpec& spec) {
  Json json = {{"podRef", {{"name", spec.pod_ref.name}}}, {"suspend", spec.suspend}, {"dryRun", spec.dry_run}};
  put_text(json["podRef"], "uid", spec.pod_ref.uid.value);
  put_text(json, "nodeName", spec.node_name.value);
  put_text(json, "reason", spec.reason);
  if (spec.source != EvacuationSource{}) {
    put_text(json["source"], "policy", spec.source.policy);
    put_text(json["source"], "strategy", spec.source.strategy);
    put_text(json["source"], "requester", spec.source.requester);
  }
  encode_shared_parts(shared_parts(spec), json);
  put_text(json, "concurrencyGroup", spec.concurrency_group);
  if (spec.cancel != CancelRequest{}) {
    json["cancel"]["requested"] = spec.cancel.requested;
    put_text(json["cancel"], "reason", spec.cancel.reason);
  }
  if (spec.placement) {
    json["placement"] = {{"nodeName", spec.placement->node_name.value},
                         {"policy", to_string(spec.placement->policy)},
                         {"expiresAfterSeconds", spec.placement->expires_after.count()}};
  }
  return json;
}

namespace {

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

Json encode_evacuation(const Evacuation& evacuation) {
  return {{"apiVersion", well_known::kApiVersion},
          {"kind", "Evacuation"},
          {"metadata", encode_meta(evacuation.meta)},
          {"spec", encode_spec(evacuation.spec)}};
}

namespace {

void check_placement(FieldErrors& errors, const FieldPath& at, const EvacuationSpec& spec) {
  const PlacementHint& hint = *spec.placement;
  if (hint.node_name.empty()) {
    errors.push_back({at.field("nodeName").text(), "is required"});
  } else {
    check_subdomain(errors, at.field("nodeName"), hint.node_name.value);
  }
  if (!hint.node_name.empty() && hint.node_name == spec.node_name)
    errors.push_back({at.field("nodeName").text(), "is the node that the pod leaves"});
  check_range(errors, at.field("expiresAfterSeconds"), hint.expires_after.count(), 1, bounds::kDaySeconds);
}

}  // namespace

FieldErrors validate(const EvacuationSpec& spec, const std::vector<std::string_view>& known_evictors) {
  FieldErrors errors;
  const FieldPath at("spec");
  if (spec.pod_ref.name.empty()) {
    errors.push_back({"spec.podRef.name", "is required"});
  } else {
    check_subdomain(errors, at.field("podRef").field("name"), spec.pod_ref.name);
  }
  check_length(errors, at.field("podRef").field("uid"), spec.pod_ref.uid.value, bounds::kMaxUid);
  if (!spec.node_name.empty()) check_subdomain(errors, at.field("nodeName"), spec.node_name.value);
  check_length(errors, at.field("reason"), spec.reason, bounds::kMaxReason);
  const FieldPath source = at.field("source");
  check_length(errors, source.field("policy"), spec.source.policy, bounds::kMaxName);
  check_length(errors, source.field("strategy"), spec.source.strategy, bounds::kMaxName);
  check_length(errors, source.field("requester"), spec.source.requester, bounds::kMaxName);
  check_length(errors, at.field("concurrencyGroup"), spec.concurrency_group, bounds::kMaxName);
  check_length(errors, at.field("cancel").field("reason"), spec.cancel.reason, bounds::kMaxReason);
  check_shared_parts(shared_parts(spec), at, known_evictors, errors);
  if (spec.placement) check_placement(errors, at.field("placement"), spec);
  return errors;
}

FieldErrors check_evacuation(const Json& object, const std::vector<std::string_view>& known_evictors) {
  if (!object.is_object()) return {{"", fmt::format("an Evacuation must be an object, not {}", kind_of(object))}};
  FieldErrors errors;
  const auto spec = object.find("spec");
  const EvacuationSpec read = spec == object.end() ? EvacuationSpec{} : read_evacuation_spec(*spec, errors);
  for (FieldError& error : validate(read, known_evictors)) {
    const auto same_field = [&](const FieldError& known) { return known.path == error.path; };
    if (std::ranges::none_of(errors, same_field)) errors.push_back(std::move(error));
  }
  return errors;
}

FieldErrors validate_update(const EvacuationSpec& before, const EvacuationSpec& after) {
  FieldErrors errors;
  const auto keep = [&](std::string_view field, bool same) {
    if (!same) errors.push_back({FieldPath("spec").field(field).text(), "may not change after creation"});
  };
  keep("podRef.name", before.pod_ref.name == after.pod_ref.name);
  keep("podRef.uid", before.pod_ref.uid.empty() || before.pod_ref.uid == after.pod_ref.uid);
  keep("nodeName", before.node_name.empty() || before.node_name == after.node_name);
  keep("reason", before.reason == after.reason);
  keep("source", before.source == after.source);
  keep("evictors", before.evictors == after.evictors);
  keep("gracePeriodSeconds", before.grace_period_seconds == after.grace_period_seconds);
  keep("concurrencyGroup", before.concurrency_group == after.concurrency_group);
  keep("timeouts", before.timeouts == after.timeouts);
  keep("retry", before.retry == after.retry);
  keep("onTimeout", before.on_timeout == after.on_timeout);
  keep("holdSlotUntil", before.hold_slot_until == after.hold_slot_until);
  keep("requireReplacement", before.require_replacement == after.require_replacement);
  keep("ttlSecondsAfterFinished", before.ttl_after_finished == after.ttl_after_finished);
  keep("dryRun", before.dry_run == after.dry_run);
  keep("placement", before.placement == after.placement);
  if (before.cancel.requested && !after.cancel.requested) {
    errors.push_back({"spec.cancel.requested", "may not be taken back: true stays true"});
  }
  return errors;
}

}  // namespace api
