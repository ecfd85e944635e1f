#pragma once

/// How much may happen: per planning cycle and at the same time. In policies (spec.limits) and, over all of
/// them, in the operator's configuration. docs/concepts/limits.md.

#include <cstdint>
#include <optional>

#include "api/core/kinds.hpp"
#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "api/json/strict_object.hpp"
#include "base/clock.hpp"

namespace api {

struct PerCycleLimits {
  std::optional<std::int32_t> total;
  std::optional<std::int32_t> per_node;
  std::optional<std::int32_t> per_namespace;
  friend bool operator==(const PerCycleLimits&, const PerCycleLimits&) = default;
};

/// Evacuations that hold a slot at the same time. Absent: no limit; 0: none. A percentage counts against the cluster's
/// nodes (total), the node's allocatable pods (per_node, per_target_node), the workload's replicas (per_workload), the
/// zone's nodes (per_zone), and never rounds down to none; per_namespace has no whole and is a number.
/// Cluster-wide limits of the operator's configuration win over a policy's.
struct InFlightLimits {
  std::optional<IntOrPercent> total;
  std::optional<IntOrPercent> per_node;  ///< that the pods leave
  std::optional<IntOrPercent> per_namespace;
  std::optional<IntOrPercent> per_workload;
  std::optional<IntOrPercent> per_target_node = std::nullopt;  ///< that the pods are expected on
  std::optional<IntOrPercent> per_zone = std::nullopt;         ///< of the node that they leave
  friend bool operator==(const InFlightLimits&, const InFlightLimits&) = default;
};

/// Token bucket over admissions: one more each `interval`, at most `burst` saved up.
struct RateLimit {
  std::optional<std::int32_t> per_second;  ///< exactly one of these two
  std::optional<std::int32_t> per_minute;
  std::int32_t burst = 1;
  /// Time for one token, rounded up to whole µs. REQUIRES: one of the two is set and positive.
  base::Duration interval() const;
  friend bool operator==(const RateLimit&, const RateLimit&) = default;
};

/// How long what was evacuated is excluded (cooling down): base × 2^(n−1) after the n-th evacuation within `window`, at
/// most `maximum`. Absent bases: no cooldown.
struct CooldownLimits {
  std::optional<base::Duration> pod;              ///< pods that keep their name (StatefulSet)
  std::optional<base::Duration> virtual_machine;  ///< pods of a VirtualMachineInstance, by its name
  std::optional<base::Duration> workload;         ///< all pods of one controller or concurrency group
  base::Duration maximum = std::chrono::hours(6);
  base::Duration window = std::chrono::hours(48);
  friend bool operator==(const CooldownLimits&, const CooldownLimits&) = default;
};

struct PolicyLimits {
  PerCycleLimits per_cycle;
  InFlightLimits in_flight;
  std::optional<RateLimit> rate = std::nullopt;
  CooldownLimits cooldown{};
  friend bool operator==(const PolicyLimits&, const PolicyLimits&) = default;
};

/// What admission goes by: a policy's, or the operator's over all policies.
struct AdmissionLimits {
  InFlightLimits in_flight;
  std::optional<RateLimit> rate = std::nullopt;
  CooldownLimits cooldown{};
  friend bool operator==(const AdmissionLimits&, const AdmissionLimits&) = default;
};
inline AdmissionLimits admission_limits(const PolicyLimits& limits) {
  return {limits.in_flight, limits.rate, limits.cooldown};
}

/// Strict: complaints go to the object's errors. Absent fields leave the target as it was. Bounds are validate()'s.
void read_in_flight(StrictObject& object, InFlightLimits& limits);
void read_rate(StrictObject& limits, std::optional<RateLimit>& rate);
void read_cooldown(StrictObject& limits, CooldownLimits& cooldown);
void read_limits(StrictObject& object, PolicyLimits& limits);
Json encode_limits(const PolicyLimits& limits);
void validate_in_flight(const InFlightLimits& limits, const FieldPath& at, FieldErrors& errors);
void validate_rate(const std::optional<RateLimit>& rate, const FieldPath& at, FieldErrors& errors);
void validate_cooldown(const CooldownLimits& cooldown, const FieldPath& at, FieldErrors& errors);
void validate_limits(const PolicyLimits& limits, const FieldPath& at, FieldErrors& errors);

}  // namespace api
