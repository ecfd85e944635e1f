#include "api/evacuation_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/names.hpp"

namespace api {
namespace {

/// Evictors in the CRD. Those that are missing in the registry are reported as "not supported yet".
constexpr std::array<std::string_view, 7> kDesignedEvictors = {
    "eviction-api", "annotation", "kubevirt", "stateful-handoff", "eviction-request", "surge", "webhook"};

/// Names of the timeouts and their members, in wire order. `least` is the minimum in seconds.
struct TimeoutField {
  std::string_view name;
  std::optional<base::seconds> EvacuationTimeouts::*member;
  std::int64_t least;
};
constexpr std::array kTimeoutFields = {TimeoutField{"decisionTTLSeconds", &EvacuationTimeouts::decision_ttl, 1},
                                       TimeoutField{"prepareSeconds", &EvacuationTimeouts::prepare, 1},
                                       TimeoutField{"acknowledgeSeconds", &EvacuationTimeouts::acknowledge, 1},
                                       TimeoutField{"heartbeatSeconds", &EvacuationTimeouts::heartbeat, 1},
                                       TimeoutField{"totalSeconds", &EvacuationTimeouts::total, 1},
                                       TimeoutField{"queueSeconds", &EvacuationTimeouts::queue, 1},
                                       TimeoutField{"blockedSeconds", &EvacuationTimeouts::blocked, 0},
                                       TimeoutField{"terminationSeconds", &EvacuationTimeouts::termination, 1},
                                       TimeoutField{"verifySeconds", &EvacuationTimeouts::verify, 1},
                                       TimeoutField{"abortSeconds", &EvacuationTimeouts::abort, 1}};

void check_evictor_name(FieldErrors& errors, const FieldPath& at, const std::string& name,
                        const std::vector<std::string_view>& known) {
  if (std::ranges::find(known, name) != known.end()) return;
  if (name.empty()) {
    errors.push_back({at.text(), "is required"});
  } else if (std::ranges::find(kDesignedEvictors, name) != kDesignedEvictors.end()) {
    errors.push_back(
        {at.text(), fmt::format("evictor \"{}\" is not supported yet, use {}", name, join_alternatives(known))});
  } else {
    errors.push_back(
        {at.text(), fmt::format("unknown evictor \"{}\", use {}{}", name.substr(0, bounds::kMaxParameterName),
                                join_alternatives(known), did_you_mean(name, known))});
  }
}

/// Maximum total length of parameter names and values, which bounds the size of an Evacuation. The CRD has a CEL rule
/// for it.
constexpr std::size_t kMaxParameterCharacters = 4096;

void check_parameter_total(FieldErrors& errors, const FieldPath& at, const std::vector<EvictorChoice>& evictors) {
  std::size_t total = 0;
  for (const EvictorChoice& choice : evictors) {
    for (const auto& [key, value] : choice.parameters) total += length_in_characters(key) + length_in_characters(value);
  }
  if (total <= kMaxParameterCharacters) return;
  errors.push_back({at.text(), fmt::format("the parameters have {} characters in all, at most {} are allowed", total,
                                           kMaxParameterCharacters)});
}

void check_evictors(FieldErrors& errors, const FieldPath& at, const std::vector<EvictorChoice>& evictors,
                    const std::vector<std::string_view>& known) {
  check_count(errors, at, evictors.size(), bounds::kMaxEvictors);
  for (std::size_t i = 0; i < evictors.size(); ++i) {
    const auto& [name, parameters] = evictors[i];
    check_evictor_name(errors, at.index(i).field("name"), name, known);
    const auto first = std::ranges::find(evictors, name, &EvictorChoice::name);
    const auto first_index = static_cast<std::size_t>(first - evictors.begin());
    if (first_index < i && !name.empty()) {
      errors.push_back({at.index(i).field("name").text(),
                        fmt::format("\"{}\" is already at {}", name, at.index(first_index).text())});
    }
    const FieldPath where = at.index(i).field("parameters");
    check_count(errors, where, parameters.size(), bounds::kMaxParameters);
    for (const auto& [key, value] : parameters) {
      check_length(errors, where.key(key), key, bounds::kMaxParameterName);
      check_length(errors, where.key(key), value, bounds::kMaxParameterValue);
    }
  }
  check_parameter_total(errors, at, evictors);
}

void check_retry(FieldErrors& errors, const FieldPath& at, const EvacuationRetry& retry) {
  check_range(errors, at.field("maxAttempts"), retry.max_attempts, 1, bounds::kMaxAttempts);
  check_range(errors, at.field("backoffSeconds"), retry.backoff.count(), 1, bounds::kDaySeconds);
  check_range(errors, at.field("backoffMaxSeconds"), retry.backoff_max.count(), 1, bounds::kDaySeconds);
  if (retry.backoff_max < retry.backoff) {
    errors.push_back(
        {at.field("backoffMaxSeconds").text(),
         fmt::format("{} is below backoffSeconds, which is {}", retry.backoff_max.count(), retry.backoff.count())});
  }
}

}  // namespace

void check_range(FieldErrors& errors, const FieldPath& at, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least) errors.push_back({at.text(), fmt::format("{} is below {}", value, least)});
  if (value > most) errors.push_back({at.text(), fmt::format("{} is above {}", value, most)});
}

void check_count(FieldErrors& errors, const FieldPath& at, std::size_t count, std::size_t most) {
  if (count > most) errors.push_back({at.text(), fmt::format("has {} items, at most {} are allowed", count, most)});
}

void check_subdomain(FieldErrors& errors, const FieldPath& at, std::string_view text) {
  if (is_dns_subdomain(text)) return;
  errors.push_back(
      {at.text(), fmt::format("\"{}\" is not a DNS subdomain: lower-case letters, digits, '-' and '.', at most 253",
                              text.substr(0, bounds::kMaxName))});
}

void read_member(StrictObject& object, std::string_view name, std::vector<std::pair<std::string, std::string>>& to) {
  const Json* parameters = object.find(name);
  if (parameters == nullptr) return;
  if (!parameters->is_object())
    return object.complain(name, fmt::format("must be an object, not {}", kind_of(*parameters)));
  for (const auto& [key, value] : parameters->items()) {
    if (value.is_string()) {
      to.emplace_back(key, value.get<std::string>());
    } else {
      object.errors().push_back(
          {object.path().field(name).field(key).text(), fmt::format("must be a string, not {}", kind_of(value))});
    }
  }
}

void read_member(StrictObject& object, std::string_view name, EvacuationTimeouts& to) {
  object.with(name, [&](StrictObject& timeouts) {
    for (const TimeoutField& field : kTimeoutFields) timeouts.read(field.name, to.*field.member);
  });
}

Json encode_value(const EvacuationTimeouts& timeouts) {
  Json json = Json::object();
  for (const TimeoutField& field : kTimeoutFields) {
    if (const auto& timeout = timeouts.*field.member) json[std::string(field.name)] = timeout->count();
  }
  return json;
}

template <typename T>
void check_shared_parts(const T& parts, const FieldPath& at, const std::vector<std::string_view>& known_evictors,
                        FieldErrors& errors) {
  check_evictors(errors, at.field("evictors"), parts.evictors, known_evictors);
  for (const TimeoutField& field : kTimeoutFields) {
    const auto& timeout = parts.timeouts.*field.member;
    if (timeout) {
      check_range(errors, at.field("timeouts").field(field.name), timeout->count(), field.least, bounds::kWeekSeconds);
    }
  }
  check_retry(errors, at.field("retry"), parts.retry);
  if (parts.grace_period_seconds) {
    check_range(errors, at.field("gracePeriodSeconds"), *parts.grace_period_seconds, 1, bounds::kWeekSeconds);
  }
  if (parts.ttl_after_finished) {
    check_range(errors, at.field("ttlSecondsAfterFinished"), parts.ttl_after_finished->count(), 0,
                bounds::kYearSeconds);
  }
  check_range(errors, at.field("priority"), parts.priority, -bounds::kMaxPriority, bounds::kMaxPriority);
}

template void check_shared_parts(const EvacuationSpec&, const FieldPath&, const std::vector<std::string_view>&,
                                 FieldErrors&);
template void check_shared_parts(const EvacuationTemplate&, const FieldPath&, const std::vector<std::string_view>&,
                                 FieldErrors&);

}  // namespace api
