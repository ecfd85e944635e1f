#pragma once

/// Codec and validation of the fields that EvacuationSpec and a policy's EvacuationTemplate share. Internal to api/.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "api/json/fields.hpp"
#include "api/policy/bounds.hpp"

namespace api {

template <>
inline constexpr auto kFields<EvictorChoice> =
    std::tuple{always("name", &EvictorChoice::name), field("parameters", &EvictorChoice::parameters)};

template <>
inline constexpr auto kFields<EvacuationRetry> = std::tuple{always("maxAttempts", &EvacuationRetry::max_attempts),
                                                            always("backoffSeconds", &EvacuationRetry::backoff),
                                                            always("backoffMaxSeconds", &EvacuationRetry::backoff_max)};

/// The four hooks, in the order in which they may run.
template <>
inline constexpr auto kFields<EvacuationHooks> =
    std::tuple{field("pre", &EvacuationHooks::pre), field("migrate", &EvacuationHooks::migrate),
               field("post", &EvacuationHooks::post), field("undo", &EvacuationHooks::undo)};

/// Fields that EvacuationSpec and EvacuationTemplate both have.
template <typename T>
inline constexpr auto kSharedFields = std::tuple{field("evictors", &T::evictors),
                                                 field("timeouts", &T::timeouts),
                                                 always("retry", &T::retry),
                                                 always("onTimeout", &T::on_timeout),
                                                 always("holdSlotUntil", &T::hold_slot_until),
                                                 field("gracePeriodSeconds", &T::grace_period_seconds),
                                                 always("requireReplacement", &T::require_replacement),
                                                 field("ttlSecondsAfterFinished", &T::ttl_after_finished),
                                                 always("priority", &T::priority)};

/// Parameters of an evictor: the only field of this type that is read strictly with read_fields().
void read_member(StrictObject& object, std::string_view name, std::vector<std::pair<std::string, std::string>>& to);
void read_member(StrictObject& object, std::string_view name, EvacuationTimeouts& to);
Json encode_value(const EvacuationTimeouts& timeouts);

/// Checks the shared fields. T is EvacuationSpec or EvacuationTemplate.
template <typename T>
void check_shared_parts(const T& parts, const FieldPath& at, const std::vector<std::string_view>& known_evictors,
                        FieldErrors& errors);

/// Reads the valid fields of an Evacuation's spec (evacuation.cpp).
EvacuationSpec read_evacuation_spec(const Json& json, FieldErrors& errors);
/// Reads the valid fields of a policy's spec (descheduler_policy.cpp). Also used for validation.
DeschedulerPolicySpec read_policy_spec(const Json& json, FieldErrors& errors);

/// Decodes an object of a kind of Evacuator. `what` is "an Evacuation". The spec is read strictly, the status
/// leniently.
template <typename T, typename ReadSpec, typename StatusOf>
base::Result<T> decode_own_kind(const Json& json, std::string_view what, ReadSpec read_spec, StatusOf status_of) {
  if (!json.is_object()) return base::invalid(fmt::format("{} must be an object, not {}", what, kind_of(json)));
  FieldErrors errors;
  T decoded;
  decoded.meta = lenient::meta(json);
  if (const Json* spec = find_at(json, {"spec"})) decoded.spec = read_spec(*spec, errors);
  if (!errors.empty()) return to_error(errors);
  if (const Json* status = lenient::object(json, "status")) decoded.status = status_of(*status);
  return decoded;
}

/// Returns all errors of decoding and validate(), one per field.
template <typename ReadSpec>
FieldErrors check_own_kind(const Json& json, std::string_view what, ReadSpec read_spec,
                           const std::vector<std::string_view>& known_evictors) {
  if (!json.is_object()) return {{"", fmt::format("{} must be an object, not {}", what, kind_of(json))}};
  FieldErrors errors;
  const Json* spec = find_at(json, {"spec"});
  const auto read = spec == nullptr ? decltype(read_spec(json, errors)){} : read_spec(*spec, errors);
  for (FieldError& error : validate(read, known_evictors)) append_new_fields(errors, {std::move(error)});
  return errors;
}

/// Reports "120 is above 100", "0 is below 1".
void check_range(FieldErrors& errors, const FieldPath& at, std::int64_t value, std::int64_t least, std::int64_t most);
/// Reports "must have at most 8 items".
void check_count(FieldErrors& errors, const FieldPath& at, std::size_t count, std::size_t most);
void check_subdomain(FieldErrors& errors, const FieldPath& at, std::string_view text);

/// Bounds. The CRDs repeat them; test/unit/api checks that both are equal.
namespace bounds {
inline constexpr std::int64_t kWeekSeconds = 604800;
inline constexpr std::int64_t kYearSeconds = 31536000;
inline constexpr std::int64_t kDaySeconds = 86400;
inline constexpr std::int64_t kMaxPriority = 1000000000;
inline constexpr std::int64_t kMaxAttempts = 20;
inline constexpr std::size_t kMaxEvictors = 8;
inline constexpr std::size_t kMaxParameters = 32;
inline constexpr std::size_t kMaxParameterName = 63;
inline constexpr std::size_t kMaxParameterValue = 1024;
inline constexpr std::size_t kMaxName = 253;
inline constexpr std::size_t kMaxReason = 1024;
inline constexpr std::size_t kMaxUid = 128;
/// Pods of system-cluster-critical and above are never moved by priority.
inline constexpr std::int64_t kMaxThreshold = 2000000000;
inline constexpr std::int64_t kMaxLimit = 1000000;
inline constexpr std::int64_t kMaxRate = 10000;
inline constexpr std::int64_t kMaxReplicas = 1000000;
inline constexpr std::int64_t kMaxPodAgeHours = 87600;
inline constexpr std::size_t kMaxStrategies = 32;
inline constexpr std::size_t kMaxNamespaces = 1000;
inline constexpr std::size_t kMaxStorageClasses = 100;
inline constexpr std::size_t kMaxIgnoredVolumes = 100;
inline constexpr std::size_t kMaxOptOuts = 8;
inline constexpr std::size_t kMaxRequirements = 64;
inline constexpr std::size_t kMaxArgsBytes = 65536;
}  // namespace bounds

}  // namespace api
