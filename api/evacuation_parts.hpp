#pragma once

/// Codec and validation of the fields that EvacuationSpec and a policy's EvacuationTemplate share. Internal to api/.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "api/json/strict_object.hpp"

namespace api {

/// References to the members that EvacuationSpec and EvacuationTemplate both have.
template <bool kConst>
struct BasicSharedParts {
  template <typename T>
  using Ref = std::conditional_t<kConst, const T&, T&>;

  Ref<std::vector<EvictorChoice>> evictors;
  Ref<EvacuationTimeouts> timeouts;
  Ref<EvacuationRetry> retry;
  Ref<OnTimeout> on_timeout;
  Ref<HoldSlotUntil> hold_slot_until;
  Ref<std::optional<std::int64_t>> grace_period_seconds;
  Ref<bool> require_replacement;
  Ref<std::optional<base::seconds>> ttl_after_finished;
  Ref<std::int32_t> priority;
};
using SharedParts = BasicSharedParts<false>;
using ConstSharedParts = BasicSharedParts<true>;

template <typename T>
auto shared_parts(T& from) {
  return BasicSharedParts<std::is_const_v<T>>{from.evictors,
                                              from.timeouts,
                                              from.retry,
                                              from.on_timeout,
                                              from.hold_slot_until,
                                              from.grace_period_seconds,
                                              from.require_replacement,
                                              from.ttl_after_finished,
                                              from.priority};
}

void read_shared_parts(StrictObject& object, SharedParts to);
void encode_shared_parts(const ConstSharedParts& from, Json& to);
void check_shared_parts(const ConstSharedParts& parts, const FieldPath& at,
                        const std::vector<std::string_view>& known_evictors, FieldErrors& errors);

/// Reads the valid fields of a policy's spec (descheduler_policy.cpp). Also used for validation.
DeschedulerPolicySpec read_policy_spec(const Json& json, FieldErrors& errors);

/// Names of the timeouts and their members, in wire order. `least` is the minimum in seconds.
struct TimeoutField {
  std::string_view name;
  std::optional<base::seconds> EvacuationTimeouts::*member;
  std::int64_t least;
};
std::span<const TimeoutField> timeout_fields();

/// Reports "120 is above 100", "0 is below 1".
void check_range(FieldErrors& errors, const FieldPath& at, std::int64_t value, std::int64_t least, std::int64_t most);
/// Reports "is longer than 253 characters".
void check_length(FieldErrors& errors, const FieldPath& at, std::string_view text, std::size_t most);
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
inline constexpr std::int64_t kMinIntervalSeconds = 5;
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
