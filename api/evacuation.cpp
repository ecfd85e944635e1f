#include "api/evacuation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "api/evacuation/status.hpp"
#include "api/evacuation_parts.hpp"
#include "api/meta/names.hpp"
#include "api/meta/well_known.hpp"
#include "api/vocabulary/condition_types.hpp"

namespace api {
template <>
inline constexpr auto kFields<PodReference> =
    std::tuple{always("name", &PodReference::name), field("uid", &PodReference::uid)};

template <>
inline constexpr auto kFields<EvacuationSource> =
    std::tuple{field("policy", &EvacuationSource::policy), field("strategy", &EvacuationSource::strategy),
               field("requester", &EvacuationSource::requester)};

template <>
inline constexpr auto kFields<CancelRequest> =
    std::tuple{always("requested", &CancelRequest::requested), field("reason", &CancelRequest::reason)};

template <>
inline constexpr auto kFields<PlacementHint> =
    std::tuple{always("nodeName", &PlacementHint::node_name), always("policy", &PlacementHint::policy),
               always("expiresAfterSeconds", &PlacementHint::expires_after)};

template <>
inline constexpr auto kFields<EvacuationSpec> = std::tuple_cat(
    std::tuple{always("podRef", &EvacuationSpec::pod_ref), field("nodeName", &EvacuationSpec::node_name),
               field("reason", &EvacuationSpec::reason), field("source", &EvacuationSpec::source)},
    kSharedFields<EvacuationSpec>,
    std::tuple{field("concurrencyGroup", &EvacuationSpec::concurrency_group),
               always("suspend", &EvacuationSpec::suspend), always("dryRun", &EvacuationSpec::dry_run),
               field("cancel", &EvacuationSpec::cancel), field("placement", &EvacuationSpec::placement)});

EvacuationSpec read_evacuation_spec(const Json& json, FieldErrors& errors) {
  EvacuationSpec spec;
  StrictObject object(json, FieldPath("spec"), errors);
  read_fields(object, spec);
  object.finish();
  return spec;
}

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
  std::string suffix;  // 8 hex digits for a real UID
  for (const char c : uid.value.substr(0, 8)) {
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (is_dns_label(std::string_view(&lower, 1)) || (lower == '-' && !suffix.empty())) suffix.push_back(lower);
  }
  while (suffix.ends_with('-')) suffix.pop_back();
  if (suffix.empty()) suffix = "0";
  std::string_view head = pod_name.substr(0, bounds::kMaxName - suffix.size() - 1);
  while (head.ends_with('.') || head.ends_with('-')) head.remove_suffix(1);  // "a.-1f" would be an invalid DNS name
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
  return decode_own_kind<Evacuation>(json, "an Evacuation", read_evacuation_spec, evacuation_status_of);
}

namespace {

bool spec_decodes(const Json& spec) {
  Json probe = Json::object();
  probe["spec"] = spec;
  return decode_evacuation(probe).ok();
}

/// Returns a spec with the readable part of podRef, or null if the pod cannot be identified.
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

Json encode_spec(const EvacuationSpec& spec) { return encode_fields(spec); }

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
  check_shared_parts(spec, at, known_evictors, errors);
  if (spec.placement) check_placement(errors, at.field("placement"), spec);
  return errors;
}

FieldErrors check_evacuation(const Json& object, const std::vector<std::string_view>& known_evictors) {
  return check_own_kind(object, "an Evacuation", read_evacuation_spec, known_evictors);
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
