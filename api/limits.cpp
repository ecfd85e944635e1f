#include "api/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/core/selector_codec.hpp"
#include "api/evacuation_parts.hpp"
#include "api/json/lenient.hpp"

namespace api {
namespace {

struct InFlightField {
  const char* name;
  std::optional<IntOrPercent> InFlightLimits::*member;
  bool has_whole;  ///< a percentage is possible
};
constexpr std::array kInFlightFields = {InFlightField{"total", &InFlightLimits::total, true},
                                        InFlightField{"perNode", &InFlightLimits::per_node, true},
                                        InFlightField{"perTargetNode", &InFlightLimits::per_target_node, true},
                                        InFlightField{"perNamespace", &InFlightLimits::per_namespace, false},
                                        InFlightField{"perWorkload", &InFlightLimits::per_workload, true},
                                        InFlightField{"perZone", &InFlightLimits::per_zone, true}};

struct CooldownField {
  const char* name;
  std::optional<base::Duration> CooldownLimits::*member;
};
constexpr std::array kCooldownFields = {CooldownField{"pod", &CooldownLimits::pod},
                                        CooldownField{"virtualMachine", &CooldownLimits::virtual_machine},
                                        CooldownField{"workload", &CooldownLimits::workload}};

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

void read_in_flight(StrictObject& object, InFlightLimits& limits) {
  for (const InFlightField& field : kInFlightFields) read_int_or_percent(object, field.name, limits.*field.member);
}

void read_rate(StrictObject& limits, std::optional<RateLimit>& rate) {
  limits.with("rate", [&](StrictObject& object) {
    RateLimit read;
    object.read("perSecond", read.per_second);
    object.read("perMinute", read.per_minute);
    object.read("burst", read.burst);
    rate = read;
  });
}

void read_cooldown(StrictObject& limits, CooldownLimits& cooldown) {
  limits.with("cooldown", [&](StrictObject& object) {
    for (const CooldownField& field : kCooldownFields) object.read_duration(field.name, cooldown.*field.member);
    object.read_duration("maximum", cooldown.maximum);
    object.read_duration("window", cooldown.window);
  });
}

void read_limits(StrictObject& object, PolicyLimits& limits) {
  object.with("perCycle", [&](StrictObject& json) {
    json.read("total", limits.per_cycle.total);
    json.read("perNode", limits.per_cycle.per_node);
    json.read("perNamespace", limits.per_cycle.per_namespace);
  });
  object.with("inFlight", [&](StrictObject& json) { read_in_flight(json, limits.in_flight); });
  read_rate(object, limits.rate);
  read_cooldown(object, limits.cooldown);
}

namespace {

Json encode_rate(const RateLimit& rate) {
  Json json = {{"burst", rate.burst}};
  put_optional(json, "perSecond", rate.per_second);
  put_optional(json, "perMinute", rate.per_minute);
  return json;
}

Json encode_cooldown(const CooldownLimits& cooldown) {
  Json json = {{"maximum", base::format_duration(cooldown.maximum)},
               {"window", base::format_duration(cooldown.window)}};
  for (const CooldownField& field : kCooldownFields) {
    if (const auto& base = cooldown.*field.member) json[field.name] = base::format_duration(*base);
  }
  return json;
}

}  // namespace

Json encode_limits(const PolicyLimits& limits) {
  Json cycle = Json::object();
  put_optional(cycle, "total", limits.per_cycle.total);
  put_optional(cycle, "perNode", limits.per_cycle.per_node);
  put_optional(cycle, "perNamespace", limits.per_cycle.per_namespace);
  Json in_flight = Json::object();
  for (const InFlightField& field : kInFlightFields) {
    if (const auto& limit = limits.in_flight.*field.member) in_flight[field.name] = encode_int_or_percent(*limit);
  }
  Json json = Json::object();
  if (!cycle.empty()) json["perCycle"] = std::move(cycle);
  if (!in_flight.empty()) json["inFlight"] = std::move(in_flight);
  if (limits.rate) json["rate"] = encode_rate(*limits.rate);
  if (limits.cooldown != CooldownLimits{}) json["cooldown"] = encode_cooldown(limits.cooldown);
  return json;
}

void validate_in_flight(const InFlightLimits& limits, const FieldPath& at, FieldErrors& errors) {
  for (const InFlightField& field : kInFlightFields) {
    check_limit(limits.*field.member, field.has_whole, at.field(field.name), errors);
  }
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
  const auto check = [&](const char* name, base::Duration value, base::Duration least, const char* range) {
    if (value >= least && value <= std::chrono::seconds(bounds::kWeekSeconds)) return;
    errors.push_back({at.field(name).text(), fmt::format("{} is not {}", base::format_duration(value), range)});
  };
  for (const CooldownField& field : kCooldownFields) {
    if (const auto& base = cooldown.*field.member) check(field.name, *base, {}, "between 0s and 168h");
  }
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
