#include "api/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/core/selector_codec.hpp"
#include "api/evacuation_parts.hpp"
#include "api/json/fields.hpp"

namespace api {
template <>
inline constexpr auto kFields<InFlightLimits> = std::tuple{field("total", &InFlightLimits::total),
                                                           field("perNode", &InFlightLimits::per_node),
                                                           field("perTargetNode", &InFlightLimits::per_target_node),
                                                           field("perNamespace", &InFlightLimits::per_namespace),
                                                           field("perWorkload", &InFlightLimits::per_workload),
                                                           field("perZone", &InFlightLimits::per_zone)};

template <>
inline constexpr auto kFields<RateLimit> =
    std::tuple{field("perSecond", &RateLimit::per_second), field("perMinute", &RateLimit::per_minute),
               always("burst", &RateLimit::burst)};

template <>
inline constexpr auto kFields<CooldownLimits> =
    std::tuple{field("pod", &CooldownLimits::pod), field("virtualMachine", &CooldownLimits::virtual_machine),
               field("workload", &CooldownLimits::workload), always("maximum", &CooldownLimits::maximum),
               always("window", &CooldownLimits::window)};

template <>
inline constexpr auto kFields<PerCycleLimits> =
    std::tuple{field("total", &PerCycleLimits::total), field("perNode", &PerCycleLimits::per_node),
               field("perNamespace", &PerCycleLimits::per_namespace)};

template <>
inline constexpr auto kFields<PolicyLimits> =
    std::tuple{field("perCycle", &PolicyLimits::per_cycle), field("inFlight", &PolicyLimits::in_flight),
               field("rate", &PolicyLimits::rate), field("cooldown", &PolicyLimits::cooldown)};

namespace {

void check_limit(const std::optional<std::int32_t>& limit, const FieldPath& at, FieldErrors& errors) {
  if (limit) check_range(errors, at, *limit, 0, bounds::kMaxLimit);
}

void check_limit(const std::optional<IntOrPercent>& limit, bool has_whole, const FieldPath& at, FieldErrors& errors) {
  if (!limit) return;
  if (!limit->percent) return check_range(errors, at, limit->value, 0, bounds::kMaxLimit);
  if (!has_whole) {
    return errors.push_back({at.text(), "must be a number: there is nothing to take a percentage of"});
  }
  if (limit->value < 1 || limit->value > 100) {
    errors.push_back({at.text(), fmt::format("{}% is not between 1% and 100%", limit->value)});
  }
}

}  // namespace

base::Duration RateLimit::interval() const {
  const base::Duration period = per_second ? base::Duration(base::seconds(1)) : base::Duration(std::chrono::minutes(1));
  const std::int64_t count = std::max<std::int64_t>(per_second ? *per_second : per_minute.value_or(1), 1);
  return base::Duration((period.count() + count - 1) / count);
}

void read_in_flight(StrictObject& object, InFlightLimits& limits) { read_fields(object, limits); }
void read_rate(StrictObject& limits, std::optional<RateLimit>& rate) { read_member(limits, "rate", rate); }
void read_cooldown(StrictObject& limits, CooldownLimits& cooldown) { read_member(limits, "cooldown", cooldown); }

void read_limits(StrictObject& object, PolicyLimits& limits) { read_fields(object, limits); }
Json encode_limits(const PolicyLimits& limits) { return encode_fields(limits); }

void validate_in_flight(const InFlightLimits& limits, const FieldPath& at, FieldErrors& errors) {
  for_each_field<InFlightLimits>([&](const auto& field) {
    const bool has_whole = field.member != &InFlightLimits::per_namespace;
    check_limit(limits.*field.member, has_whole, at.field(field.name), errors);
  });
}

void validate_rate(const std::optional<RateLimit>& rate, const FieldPath& at, FieldErrors& errors) {
  if (!rate) return;
  if (rate->per_second.has_value() == rate->per_minute.has_value()) {
    errors.push_back({at.text(), "must have either perSecond or perMinute, and not both"});
  }
  if (rate->per_second) check_range(errors, at.field("perSecond"), *rate->per_second, 1, bounds::kMaxRate);
  if (rate->per_minute) check_range(errors, at.field("perMinute"), *rate->per_minute, 1, bounds::kMaxRate);
  check_range(errors, at.field("burst"), rate->burst, 1, bounds::kMaxRate);
}

void validate_cooldown(const CooldownLimits& cooldown, const FieldPath& at, FieldErrors& errors) {
  const auto check = [&](const char* name, std::optional<base::Duration> value, base::Duration least,
                         const char* range) {
    if (!value || (*value >= least && *value <= std::chrono::seconds(bounds::kWeekSeconds))) return;
    errors.push_back({at.field(name).text(), fmt::format("{} is not {}", base::format_duration(*value), range)});
  };
  check("pod", cooldown.pod, {}, "between 0s and 168h");
  check("virtualMachine", cooldown.virtual_machine, {}, "between 0s and 168h");
  check("workload", cooldown.workload, {}, "between 0s and 168h");
  check("maximum", cooldown.maximum, base::seconds(1), "between 1s and 168h");
  check("window", cooldown.window, base::minutes(1), "between 1m and 168h");
}

void validate_limits(const PolicyLimits& limits, const FieldPath& at, FieldErrors& errors) {
  const FieldPath cycle = at.field("perCycle");
  check_limit(limits.per_cycle.total, cycle.field("total"), errors);
  check_limit(limits.per_cycle.per_node, cycle.field("perNode"), errors);
  check_limit(limits.per_cycle.per_namespace, cycle.field("perNamespace"), errors);
  validate_in_flight(limits.in_flight, at.field("inFlight"), errors);
  validate_rate(limits.rate, at.field("rate"), errors);
  validate_cooldown(limits.cooldown, at.field("cooldown"), errors);
}

}  // namespace api
