#pragma once

/// Limits per planning cycle and on concurrent evacuations: in policies (spec.limits) and, across all policies, in the
/// operator's configuration. docs/concepts/limits.md.

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

/// Maximum number of Evacuations that hold a slot concurrently. nullopt = unlimited; 0 = none. A percentage refers to
/// the cluster's nodes (total), the node's allocatable pods (per_node, per_target_node), the workload's replicas
/// (per_workload) or the zone's nodes (per_zone), and never rounds down to 0; per_namespace has no reference and must
/// be a number. Cluster-wide limits of the operator's configuration take precedence over a policy's.
struct InFlightLimits {
  std::optional<IntOrPercent> total;
  std::optional<IntOrPercent> per_node;  ///< source node
  std::optional<IntOrPercent> per_namespace;
  std::optional<IntOrPercent> per_workload;
  std::optional<IntOrPercent> per_target_node = std::nullopt;  ///< predicted node
  std::optional<IntOrPercent> per_zone = std::nullopt;         ///< zone of the source node
  friend bool operator==(const InFlightLimits&, const InFlightLimits&) = default;
};

/// Token bucket for admissions: one token per `interval`, at most `burst` tokens.
struct RateLimit {
  std::optional<std::int32_t> per_second;  ///< exactly one of per_second and per_minute is set
  std::optional<std::int32_t> per_minute;
  std::int32_t burst = 1;
  /// Returns the time for one token, rounded up to whole µs. One of the two rates must be set and positive.
  base::Duration interval() const;
  friend bool operator==(const RateLimit&, const RateLimit&) = default;
};

/// Cooldown after an evacuation: base × 2^(n−1) after the n-th evacuation within `window`, at most `maximum`. nullopt =
/// no cooldown.
struct CooldownLimits {
  std::optional<base::Duration> pod;              ///< pods with a stable name (StatefulSet)
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

/// Limits used by admission: those of a policy, or the operator's across all policies.
struct AdmissionLimits {
  InFlightLimits in_flight;
  std::optional<RateLimit> rate = std::nullopt;
  CooldownLimits cooldown{};
  friend bool operator==(const AdmissionLimits&, const AdmissionLimits&) = default;
};
inline AdmissionLimits admission_limits(const PolicyLimits& limits) {
  return {limits.in_flight, limits.rate, limits.cooldown};
}

/// Strict: errors are added to the object's list. An absent field leaves the target unchanged. The validate functions
/// check bounds.
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
