#include "api/evacuation/stored.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/core/codec_parts.hpp"
#include "api/evacuation/spec.hpp"
#include "api/evacuation/status.hpp"
#include "api/json/lenient.hpp"
#include "api/wire_names.hpp"

namespace api {
namespace {

using wire::error_code;
using wire::for_elements;
using wire::for_members;
using wire::is_object;
using wire::read;
using wire::unless_about_value;
using wire::Value;

/// Clamps to the range of int32.
error_code read_clamped(Value& value, std::optional<std::int32_t>& target) {
  using Limits = std::numeric_limits<std::int32_t>;
  std::optional<std::int64_t> whole;
  const error_code error = read(value, whole);
  if (whole) target = static_cast<std::int32_t>(std::clamp<std::int64_t>(*whole, Limits::min(), Limits::max()));
  return error;
}

error_code read_clamped(Value& value, std::int32_t& target) {
  std::optional<std::int32_t> clamped;
  const error_code error = read_clamped(value, clamped);
  target = clamped.value_or(0);
  return error;
}

/// Sets `target` if the value is an object; read_members(value, object) fills it.
template <typename T>
error_code read_object(Value& value, std::optional<T>& target, error_code (*read_members)(Value&, T&)) {
  bool is_one = false;
  if (const error_code error = is_object(value, is_one)) return unless_about_value(error);
  return is_one ? read_members(value, target.emplace()) : simdjson::SUCCESS;
}

/// Appends to `target` each element that is an object; read_members(value, object) fills it.
template <typename T>
error_code read_objects(Value& value, std::vector<T>& target, error_code (*read_members)(Value&, T&)) {
  return for_elements(value, [&](Value& item) {
    bool is_one = false;
    if (const error_code error = is_object(item, is_one)) return unless_about_value(error);
    return is_one ? read_members(item, target.emplace_back()) : simdjson::SUCCESS;
  });
}

error_code read_intent(Value& value, EvacuationIntent& intent) {
  return for_members(value, [&](std::string_view key, Value& member) {
    if (key == "action") return read(member, intent.action);
    if (key == "token") return read(member, intent.token);
    if (key == "time") return read(member, intent.time);
    if (key == "resolved") return read(member, intent.resolved);
    if (key == "result") return read(member, intent.result);
    if (key == "preState") return read(member, intent.pre_state);
    return simdjson::SUCCESS;
  });
}

error_code read_abort(Value& value, EvacuationAbort& abort) {
  std::string next;
  const error_code error = for_members(value, [&](std::string_view key, Value& member) {
    if (key == "reason") return read(member, abort.reason);
    if (key == "next") return read(member, next);
    if (key == "startedAt") return read(member, abort.started_at);
    return simdjson::SUCCESS;
  });
  abort.next = parse_evacuation_phase(next).value_or(EvacuationPhase::kCancelled);
  return error;
}

error_code read_replacement(Value& value, EvacuationReplacement& replacement) {
  return for_members(value, [&](std::string_view key, Value& member) {
    if (key == "name") return read(member, replacement.name);
    if (key == "uid") return read(member, replacement.uid);
    if (key == "node") return read(member, replacement.node.value);
    if (key == "readyAt") return read(member, replacement.ready_at);
    return simdjson::SUCCESS;
  });
}

error_code read_outcome(Value& value, EvacuationOutcome& outcome) {
  std::string kind;
  const error_code error = for_members(value, [&](std::string_view key, Value& member) {
    if (key == "kind") return read(member, kind);
    if (key == "podDeletionTimestamp") return read(member, outcome.pod_deletion_timestamp);
    if (key == "replacement") return read_object(member, outcome.replacement, read_replacement);
    return simdjson::SUCCESS;
  });
  outcome.kind = value_of(kOutcomeNames, kind).value_or(OutcomeKind::kEvicted);
  return error;
}

error_code read_placed_pod(Value& value, PlacedPod& pod) {
  return for_members(value, [&](std::string_view key, Value& member) {
    if (key == "podName") return read(member, pod.name);
    if (key == "podUID") return read(member, pod.uid);
    return simdjson::SUCCESS;
  });
}

error_code read_last_response(Value& value, LastResponse& response) {
  return for_members(value, [&](std::string_view key, Value& member) {
    if (key == "code") return read_clamped(member, response.code);
    if (key == "class") return read(member, response.response_class);
    if (key == "message") return read(member, response.message);
    if (key == "time") return read(member, response.time);
    return simdjson::SUCCESS;
  });
}

error_code read_blocker(Value& value, Blocker& blocker) {
  return for_members(value, [&](std::string_view key, Value& member) {
    if (key == "kind") return read(member, blocker.kind);
    if (key == "name") return read(member, blocker.name);
    if (key == "message") return read(member, blocker.message);
    if (key == "disruptionsAllowed") return read_clamped(member, blocker.disruptions_allowed);
    if (key == "currentHealthy") return read_clamped(member, blocker.current_healthy);
    if (key == "desiredHealthy") return read_clamped(member, blocker.desired_healthy);
    if (key == "since") return read(member, blocker.since);
    return simdjson::SUCCESS;
  });
}

error_code read_history_entry(Value& value, HistoryEntry& entry) {
  return for_members(value, [&](std::string_view key, Value& member) {
    if (key == "time") return read(member, entry.time);
    if (key == "from") return read(member, entry.from);
    if (key == "to") return read(member, entry.to);
    if (key == "reason") return read(member, entry.reason);
    if (key == "message") return read(member, entry.message);
    if (key == "attempt") return read_clamped(member, entry.attempt);
    if (key == "actor") return read(member, entry.actor);
    return simdjson::SUCCESS;
  });
}

/// Reads refs, sorted by name.
error_code read_refs(Value& value, std::vector<std::pair<std::string, std::string>>& refs) {
  const error_code error = wire::for_entries(value, [&](std::string_view name, Value& entry) {
    std::string_view text;
    const error_code entry_error = wire::text_of(entry, text);
    if (!entry_error) refs.emplace_back(name, text);
    return unless_about_value(entry_error);
  });
  std::ranges::sort(refs);
  return error;
}

error_code read_count(std::string_view key, Value& member, EvacuationStatus& status) {
  if (key == "observedGeneration") return read(member, status.observed_generation);
  if (key == "evictorIndex") return read_clamped(member, status.evictor_index);
  if (key == "attempt") return read_clamped(member, status.attempt);
  if (key == "progress") return read_clamped(member, status.progress);
  if (key == "blockedCount") return read_clamped(member, status.blocked_count);
  if (key == "grantedWithoutDelete") return read_clamped(member, status.granted_without_delete);
  if (key == "remoteFailures") return read_clamped(member, status.remote_failures);
  if (key == "signedPriority") return read_clamped(member, status.signed_priority.emplace());
  return simdjson::SUCCESS;
}

error_code read_part(std::string_view key, Value& member, EvacuationStatus& status) {
  if (key == "targetNode") return read(member, status.target_node.value);
  if (key == "podOwner") return read_object<OwnerReference>(member, status.pod_owner, wire::read_owner);
  if (key == "refs") return read_refs(member, status.refs);
  if (key == "intent") return read_object(member, status.intent, read_intent);
  if (key == "abort") return read_object(member, status.abort, read_abort);
  if (key == "outcome") return read_object(member, status.outcome, read_outcome);
  if (key == "placement") return read_object(member, status.placement, read_placed_pod);
  if (key == "lastResponse") return read_object(member, status.last_response, read_last_response);
  if (key == "blockedBy") return read_objects(member, status.blocked_by, read_blocker);
  if (key == "history") return read_objects(member, status.history, read_history_entry);
  if (key == "conditions") return read_objects<Condition>(member, status.conditions, wire::read_condition);
  return read_count(key, member, status);
}

/// `unknown` receives a phase that this version does not know.
error_code read_status(Value& value, EvacuationStatus& status, std::string& unknown) {
  std::string phase;
  const error_code error = for_members(value, [&](std::string_view key, Value& member) {
    if (key == "phase") return read(member, phase);
    for (const StatusText& field : kStatusTexts) {
      if (key == field.name) return read(member, status.*field.member);
    }
    for (const StatusTime& field : kStatusTimes) {
      if (key == field.name) return read(member, status.*field.member);
    }
    return read_part(key, member, status);
  });
  const auto known = parse_evacuation_phase(phase);
  if (!known) unknown = phase;
  status.phase = known.value_or(EvacuationPhase::kPending);
  return error;
}

/// Reads the text with simdjson. Skips the spec if `spec` is nullptr. Returns false if metadata is missing or simdjson
/// rejects the text.
bool read_with_simdjson(std::string_view text, Evacuation& evacuation, Json* spec, std::string& unknown_phase) {
  bool has_metadata = false;
  wire::Lease lease;
  const auto done = wire::read_document(*lease, text, "an Evacuation", [&](wire::Object& root) {
    return for_members(root, [&](std::string_view key, Value& member) {
      if (key == "status") return read_status(member, evacuation.status, unknown_phase);
      if (key == "spec" && spec != nullptr) return wire::copy_json(member, *spec);
      if (key != "metadata") return simdjson::SUCCESS;
      has_metadata = true;
      return wire::read_meta(member, evacuation.meta);
    });
  });
  return done.ok() && has_metadata;
}

/// Fallback for rare texts: integers beyond 64 bits, a spec that does not decode, malformed JSON.
base::Result<Evacuation> read_slowly(std::string_view text, StoredParts parts, std::string& unknown_phase) {
  auto json = parse_json(text);
  if (!json) return json.error();
  if (!json->is_object() || !json->contains("metadata"))
    return base::invalid("the text is not an object with metadata");
  if (parts == StoredParts::kAllButSpec) json->erase("spec");
  const Json* status = lenient::object(*json, "status");
  const std::string phase = status ? lenient::text(*status, "phase") : std::string();
  unknown_phase = parse_evacuation_phase(phase) ? std::string() : phase;
  return decode_stored_evacuation(*json);
}

}  // namespace

base::Result<Evacuation> read_stored_evacuation(std::string_view text, StoredParts parts, std::string* unknown_phase) {
  Evacuation evacuation;
  std::string ignored;
  std::string& unknown = unknown_phase ? *unknown_phase : ignored;
  Json spec(Json::value_t::discarded);
  if (!read_with_simdjson(text, evacuation, parts == StoredParts::kAll ? &spec : nullptr, unknown))
    return read_slowly(text, parts, unknown);
  FieldErrors errors;
  if (!spec.is_discarded()) evacuation.spec = read_evacuation_spec(spec, errors);
  if (!errors.empty()) return read_slowly(text, parts, unknown);
  return evacuation;
}

}  // namespace api
