#include "controllers/evacuation/origin/origin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "api/core/codec.hpp"
#include "api/meta/well_known.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "base/crypto/hash.hpp"
#include "base/text.hpp"
#include "controllers/evacuation/origin/spec_hash.hpp"

namespace controllers {
namespace {

constexpr std::string_view kVersion = "v1";
constexpr std::string_view kPurpose = "evacuator.dev/origin/v1";

/// Format: "v1.<key id>.<seconds since 1970>.<HMAC>".
struct OriginValue {
  std::string_view key_id;
  std::string_view time;
  std::string_view mac;
};

std::optional<OriginValue> parse_origin(std::string_view text) {
  std::array<std::string_view, 4> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t dot = text.find('.');
    const bool last = i + 1 == parts.size();
    if (last != (dot == std::string_view::npos)) return std::nullopt;
    parts[i] = text.substr(0, dot);
    if (!last) text.remove_prefix(dot + 1);
  }
  if (parts[0] != kVersion) return std::nullopt;
  return OriginValue{parts[1], parts[2], parts[3]};
}

std::optional<base::TimePoint> time_of(std::string_view seconds) {
  constexpr std::int64_t kYear9999 = 253'402'300'799;
  const auto value = base::parse_number<std::int64_t>(seconds);
  if (!value || *value < 0 || *value > kYear9999) return std::nullopt;
  return base::TimePoint(base::seconds(*value));
}

/// UID of the policy that owns the object, empty if none.
std::string_view owning_policy(const api::ObjectMeta& meta) {
  const api::OwnerReference* owner = meta.controller();
  const bool is_policy =
      owner && owner->kind == "DeschedulerPolicy" && owner->api_version == api::well_known::kApiVersion;
  return is_policy ? std::string_view(owner->uid) : std::string_view();
}

std::string mac_of(const api::Evacuation& evacuation, std::string_view hash, std::int32_t priority,
                   const crypto::Key& key, std::string_view time) {
  return key.sign(kPurpose, {evacuation.meta.ns, evacuation.meta.name, evacuation.spec.pod_ref.uid.value,
                             owning_policy(evacuation.meta), hash, std::to_string(priority),
                             evacuation.meta.annotations.value(api::well_known::kPredictedTargetAnnotation), time});
}

bool fits(const api::Evacuation& evacuation, std::int32_t priority, const OriginValue& value, const crypto::Key& key) {
  const auto has = [&](const api::EvacuationSpec& spec) {
    return crypto::equal_in_constant_time(value.mac, mac_of(evacuation, spec_hash(spec), priority, key, value.time));
  };
  if (has(evacuation.spec)) return true;
  if (evacuation.spec.node_name.empty()) return false;
  api::EvacuationSpec unfilled = evacuation.spec;
  unfilled.node_name = {};
  return has(unfilled);
}

/// Returns the spec.priority with which `evacuation` was signed. The signature may predate nodeName, which the operator
/// fills in, and a change of the priority. status.signed_priority records the signed priority; the signature verifies
/// it. Returns nullopt if the signature belongs to another object.
std::optional<std::int32_t> signed_priority(const api::Evacuation& evacuation, const OriginValue& value,
                                            const crypto::Key& key) {
  if (fits(evacuation, evacuation.spec.priority, value, key)) return evacuation.spec.priority;
  const auto& stored = evacuation.status.signed_priority;
  return stored && fits(evacuation, *stored, value, key) ? stored : std::nullopt;
}

api::Condition origin_condition(const api::Evacuation& evacuation, bool holds, api::Reason reason,
                                std::string message) {
  return {std::string(to_string(api::ConditionType::kOriginVerified)),
          holds ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
          std::string(to_string(reason)),
          std::move(message),
          evacuation.meta.generation,
          evacuation.meta.creation_timestamp};
}

}  // namespace

api::Evacuation with_origin(api::Evacuation evacuation, const crypto::Key& key, base::TimePoint now) {
  const std::string time = std::to_string(std::chrono::floor<base::seconds>(now).time_since_epoch().count());
  evacuation.meta.annotations = evacuation.meta.annotations.with(
      api::well_known::kOriginAnnotation,
      fmt::format("{}.{}.{}.{}", kVersion, key.id(), time,
                  mac_of(evacuation, spec_hash(evacuation.spec), evacuation.spec.priority, key, time)));
  return evacuation;
}

OriginProof prove_origin(const api::Evacuation& evacuation, const crypto::KeyRing& keys, OriginMemory* memory) {
  const std::string* text = evacuation.meta.annotations.find(api::well_known::kOriginAnnotation);
  if (text == nullptr) return OriginProof::kNone;
  const auto value = parse_origin(*text);
  const auto time = value ? time_of(value->time) : std::nullopt;
  if (!time || evacuation.spec.pod_ref.uid.empty()) return OriginProof::kMalformed;
  const crypto::Key* key = keys.find(value->key_id);
  if (key == nullptr) return OriginProof::kUnknownKey;
  const auto priority =
      evacuation.spec_problem.empty() ? signed_priority(evacuation, *value, *key) : std::optional<std::int32_t>();
  if (!priority) return OriginProof::kOtherObject;
  const base::Duration apart = evacuation.meta.creation_timestamp - *time;
  if (apart > kOriginWindow || apart < -kOriginWindow) return OriginProof::kOtherTime;
  if (memory == nullptr) return OriginProof::kSigned;
  if (!memory->belongs_to(value->mac, evacuation.meta.uid)) return OriginProof::kOtherObject;
  memory->note_proved(evacuation.meta.uid, {*priority, spec_hash(evacuation.spec)});
  return OriginProof::kSigned;
}

std::string_view to_string(OriginProof proof) {
  switch (proof) {
    case OriginProof::kSigned: return "created by the operator";
    case OriginProof::kNone: return "manual: it has no signature of the operator";
    case OriginProof::kMalformed: return "manual: annotation evacuator.dev/origin contains no valid signature";
    case OriginProof::kUnknownKey: return "manual: it is signed with a key that the operator does not have (any more)";
    case OriginProof::kOtherObject:
      return "manual: its signature belongs to another object, or the object was changed after it was signed";
    case OriginProof::kOtherTime:
      return "manual: its signature does not match its creation time; it is a copy, or the clocks differ";
  }
  return {};
}

bool origin_is_undecided(const api::Evacuation& evacuation) {
  return api::find_condition(evacuation.status.conditions, api::ConditionType::kOriginVerified) == nullptr;
}

void mark_origin_verified(api::Evacuation& evacuation) {
  evacuation.status.conditions.push_back(
      origin_condition(evacuation, true, api::Reason::kSigned, std::string(to_string(OriginProof::kSigned))));
}

namespace {

void replace_condition(api::Evacuation& evacuation, api::Condition condition) {
  auto& conditions = evacuation.status.conditions;
  *std::ranges::find(conditions, condition.type, &api::Condition::type) = std::move(condition);
}

/// Corrects status.signed_priority, to which any writer of the status can store a wrong value.
void keep_signed_priority(api::Evacuation& evacuation, std::int32_t priority) {
  auto& stored = evacuation.status.signed_priority;
  if (stored.value_or(evacuation.spec.priority) != priority) stored = priority;
}

/// Verifies the signature behind a stored OriginVerified=True. Removes the condition if there is no key to decide.
void prove_again(api::Evacuation& evacuation, const crypto::KeyRing* keys, OriginMemory& memory) {
  const auto proved = memory.proved(evacuation.meta.uid);
  // A spec that cannot be decoded is judged by reject_invalid_spec() and end_attempt_if_required() instead.
  const bool is_same =
      proved && (!evacuation.spec_problem.empty() || has_spec_hash(evacuation.spec, proved->spec_hash));
  if (is_same) return keep_signed_priority(evacuation, proved->priority);
  const OriginProof proof = keys ? prove_origin(evacuation, *keys, &memory) : OriginProof::kUnknownKey;
  if (proof == OriginProof::kSigned) return;
  if (proof != OriginProof::kUnknownKey) {
    return replace_condition(
        evacuation, origin_condition(evacuation, false, api::Reason::kNotSigned, std::string(to_string(proof))));
  }
  std::erase_if(evacuation.status.conditions,
                [](const api::Condition& each) { return each.type == to_string(api::ConditionType::kOriginVerified); });
}

}  // namespace

void update_origin_condition(api::Evacuation& evacuation, const crypto::KeyRing* keys, OriginMemory* memory) {
  if (origin_is_undecided(evacuation)) {
    if (keys == nullptr || prove_origin(evacuation, *keys, memory) != OriginProof::kSigned) return;
    return mark_origin_verified(evacuation);
  }
  if (memory && api::origin_is_verified(evacuation)) prove_again(evacuation, keys, *memory);
  const bool was_changed = api::origin_is_verified(evacuation) && evacuation.spec_problem.empty() &&
                           !evacuation.status.spec_hash.empty() &&
                           !has_spec_hash(evacuation.spec, evacuation.status.spec_hash);
  if (!was_changed) return;
  replace_condition(
      evacuation,
      origin_condition(evacuation, false, api::Reason::kSpecChanged,
                       "its spec was changed after it was accepted: it no longer matches what the operator created"));
}

base::Duration clock_skew(base::TimePoint sent, base::TimePoint answered, base::TimePoint created) {
  constexpr base::seconds kResolution{1};  // creation times are whole seconds
  if (created > answered) return created - answered;
  if (created + kResolution < sent) return created + kResolution - sent;
  return {};
}

base::Duration clock_skew(base::TimePoint sent, base::TimePoint answered, std::string_view created_object) {
  const auto meta = api::decode_meta(created_object);
  if (!meta || meta->creation_timestamp == base::TimePoint{}) return {};
  return clock_skew(sent, answered, meta->creation_timestamp);
}

std::string clock_skew_warning(base::Duration skew) {
  const base::Duration size = skew < base::Duration::zero() ? -skew : skew;
  if (size < kMaxClockSkew) return {};
  return fmt::format(
      "the API server's clock is {} {} the operator's; the operator's own Evacuations are recognized only within {}: "
      "synchronize the clocks of the nodes (NTP)",
      base::format_age(size), skew < base::Duration::zero() ? "behind" : "ahead of",
      base::format_age(base::Duration(kOriginWindow)));
}

}  // namespace controllers
