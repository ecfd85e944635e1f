#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/names.hpp"
#include "simulator/eviction_request/sync.hpp"
#include "simulator/pod_facts.hpp"

/// Validation of EvictionRequests, Evictions and evictionResponders of pods by the API server.

namespace simulator::eviction_request {
namespace {

using api::FieldErrors;
using api::Json;

constexpr base::seconds kClockSkew{30};
constexpr base::Duration kFarFuture = std::chrono::hours(24 * 3653);
constexpr std::size_t kMaxResponders = 10;
constexpr std::size_t kMaxMessage = 4000;

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

/// Checks a name such as "acme.io/foo". Kubernetes' own domains are reserved.
std::string party_name_problem(std::string_view name) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos || slash + 1 == name.size() || !api::is_dns_subdomain(name.substr(0, slash)))
    return "must be a domain-prefixed key (such as \"acme.io/foo\")";
  const std::string_view domain = name.substr(0, slash);
  for (const std::string_view reserved : {"k8s.io", "kubernetes.io"}) {
    if (domain == reserved || domain.ends_with("." + std::string(reserved)))
      return "domain names *.k8s.io, *.kubernetes.io are reserved";
  }
  return {};
}

std::string requester_field(const Json& request, const Options& options) {
  const bool old = options.draft_names && api::find_at(request, {"spec", "requesterName"});
  return old ? "requesterName" : "requester";
}

void check_target(const Json& object, FieldErrors& errors) {
  const Json* target = api::find_at(object, {"spec", "target"});
  if (!target || !target->is_object() || target->size() != 1 || !target->contains("pod")) {
    errors.push_back({"spec.target", "Invalid value: must specify exactly one of: `pod`"});
    return;
  }
  if (!api::is_dns_subdomain(api::text_at(*target, {"pod", "name"})))
    errors.push_back({"spec.target.pod.name", "Required value: must be a DNS subdomain"});
  if (!is_uuid(api::text_at(*target, {"pod", "uid"})))
    errors.push_back({"spec.target.pod.uid", "Invalid value: must be a lowercase UUID"});
}

void check_observed_generation(const Json* before, const Json& after, FieldErrors& errors) {
  const auto was = before ? api::number_at(*before, {"status", "observedGeneration"}) : std::nullopt;
  const auto is = api::number_at(after, {"status", "observedGeneration"});
  if (was && (!is || *is < *was))
    errors.push_back({"status.observedGeneration", "Invalid value: may neither be unset nor decrease"});
}

// --- the status of an Eviction

std::string path_of_responder(std::string_view name, std::string_view field) {
  return fmt::format("status.responders[{}].{}", name, field);
}

std::string state_of(const Json& eviction, std::string_view responder) {
  const Json* turn = status_entry(eviction, "targetResponders", "name", responder);
  return turn ? api::text_at(*turn, {"state"}) : std::string();
}

std::vector<std::string> names_in(const Json& object, std::string_view list) {
  std::vector<std::string> names;
  for (const Json& each : api::items_at(object, {"status", list})) names.push_back(api::text_at(each, {"name"}));
  return names;
}

/// Checks a time of a responder if it was changed.
void check_written_time(const Json& before, const Json& after, std::string_view name, std::string_view field,
                        base::TimePoint now, FieldErrors& errors) {
  if (same_at(before, after, {field})) return;
  const auto written = time_at(after, {field});
  const std::string path = path_of_responder(name, field);
  if (!written) {
    errors.push_back({path, "Invalid value: may not be unset"});
  } else if (*written < now - kClockSkew || *written > now + kClockSkew) {
    errors.push_back({path, "Invalid value: must be within 30 seconds of the current time"});
  } else if (field != "heartbeatTime" && before.contains(std::string(field))) {
    errors.push_back({path, "Forbidden: field is immutable once set"});
  }
}

void check_responder(const Json& before, const Json& after, std::string_view name, base::TimePoint now,
                     FieldErrors& errors) {
  for (const char* field : {"startTime", "heartbeatTime", "completionTime"})
    check_written_time(before, after, name, field, now, errors);
  const auto heartbeat = time_at(after, {"heartbeatTime"});
  const auto earlier = time_at(before, {"heartbeatTime"});
  const auto start = time_at(after, {"startTime"});
  if (heartbeat && ((earlier && *heartbeat < *earlier) || (start && *heartbeat < *start)))
    errors.push_back({path_of_responder(name, "heartbeatTime"), "Invalid value: must not go backwards"});
  const auto expected = time_at(after, {"expectedCompletionTime"});
  if (expected && !same_at(before, after, {"expectedCompletionTime"}) &&
      (*expected < now || *expected > now + kFarFuture)) {
    errors.push_back(
        {path_of_responder(name, "expectedCompletionTime"), "Invalid value: must be in the future, within 10 years"});
  }
  if (api::text_at(after, {"message"}).size() > kMaxMessage)
    errors.push_back({path_of_responder(name, "message"), "Too long: may not be more than 4000 bytes"});
}

bool is_final_eviction(const Json& eviction) {
  return condition_value(eviction, "Failed") == "True" || condition_value(eviction, "TargetEvicted") == "True";
}

bool may_leave_active(const Json& before, const Json& after, std::string_view name, const Options& options,
                      base::TimePoint now) {
  const Json* entry = status_entry(after, "responders", "name", name);
  if (is_final_eviction(after) || !entry || entry->contains("completionTime")) return true;
  const Json* known = status_entry(before, "responders", "name", name);
  const auto life = known ? last_life(*known) : std::nullopt;
  return !life || now - *life >= options.heartbeat_deadline;
}

void check_states(const Json& before, const Json& after, const Options& options, base::TimePoint now,
                  FieldErrors& errors) {
  int active = 0;
  for (const std::string& name : names_in(after, "targetResponders")) {
    const std::string was = state_of(before, name);
    const std::string is = state_of(after, name);
    active += is == "Active" ? 1 : 0;
    const std::string path = fmt::format("status.targetResponders[{}].state", name);
    if (was == is) continue;
    if (was != "Inactive" && was != "Active") errors.push_back({path, "Forbidden: the state is final"});
    if (was == "Inactive" && is != "Active") errors.push_back({path, "Forbidden: must become Active first"});
    if (was == "Active" && is == "Inactive") errors.push_back({path, "Forbidden: may not become Inactive again"});
    if (was == "Active" && !may_leave_active(before, after, name, options, now))
      errors.push_back({path, "Forbidden: its heartbeat is not overdue and it has not completed"});
  }
  if (active > 1) errors.push_back({"status.targetResponders", "Invalid value: at most one may be Active"});
}

void check_conditions_stay(const Json& before, const Json& after, FieldErrors& errors) {
  for (const char* type : {"Failed", "TargetEvicted"}) {
    if (condition_value(before, type) == "True" && condition_value(after, type) != "True")
      errors.push_back({fmt::format("status.conditions[{}]", type), "Forbidden: True is final"});
  }
}

void check_entries(const Json& before, const Json& after, base::TimePoint now, FieldErrors& errors) {
  for (const std::string& name : names_in(after, "responders")) {
    const Json* was = status_entry(before, "responders", "name", name);
    const Json* is = status_entry(after, "responders", "name", name);
    if (!was || *was == *is) continue;
    const bool active = state_of(after, name) == "Active" || state_of(before, name) == "Active";
    if (!active) {
      errors.push_back(
          {fmt::format("status.responders[{}]", name), "Forbidden: only the Active responder's entry may change"});
    } else {
      check_responder(*was, *is, name, now, errors);
    }
  }
}

}  // namespace

Target target_of(const Json& object) {
  return {api::text_at(object, {"metadata", "namespace"}), api::text_at(object, {"spec", "target", "pod", "name"}),
          api::text_at(object, {"spec", "target", "pod", "uid"})};
}

FieldErrors validate_eviction_request(const Json* before, const Json& after, const Options& options) {
  FieldErrors errors;
  check_target(after, errors);
  const std::string field = requester_field(after, options);
  const std::string problem = party_name_problem(api::text_at(after, {"spec", field}));
  if (!problem.empty()) errors.push_back({"spec." + field, "Invalid value: " + problem});
  const std::string intent = api::text_at(after, {"spec", "intent"});
  if (intent != "Eviction" && intent != "Withdrawn") {
    errors.push_back({"spec.intent", fmt::format("Unsupported value: \"{}\": supported values: \"Eviction\", "
                                                 "\"Withdrawn\"",
                                                 intent)});
  }
  check_observed_generation(before, after, errors);
  if (!before) return errors;
  if (!same_at(*before, after, {"spec", "target"}))
    errors.push_back({"spec.target", "Invalid value: field is immutable"});
  if (!same_at(*before, after, {"spec", field}))
    errors.push_back({"spec." + field, "Invalid value: field is immutable"});
  return errors;
}

FieldErrors validate_eviction(const Json* before, const Json& after, const Options& options, base::TimePoint now) {
  FieldErrors errors;
  check_target(after, errors);
  check_observed_generation(before, after, errors);
  if (!before) return errors;
  if (!same_at(*before, after, {"spec"})) errors.push_back({"spec", "Invalid value: field is immutable"});
  const auto known = names_in(*before, "targetResponders");
  if (known.empty()) return errors;  // first initialization
  if (known != names_in(after, "targetResponders") ||
      names_in(*before, "responders") != names_in(after, "responders")) {
    errors.push_back({"status.responders", "Forbidden: keys and length may not change once set"});
    return errors;
  }
  check_entries(*before, after, now, errors);
  check_states(*before, after, options, now, errors);
  check_conditions_stay(*before, after, errors);
  return errors;
}

FieldErrors validate_eviction_responders(const Json& pod) {
  FieldErrors errors;
  const Json* responders = api::find_at(pod, {"spec", "evictionResponders"});
  if (!responders) return errors;
  if (!responders->is_array()) return {{"spec.evictionResponders", "Invalid value: must be a list"}};
  if (responders->size() > kMaxResponders)
    errors.push_back({"spec.evictionResponders", "Too many: must have at most 10 items"});
  if (!responders->empty() && api::find_at(pod, {"spec", "schedulingGroup"}))
    errors.push_back({"spec.evictionResponders", "Forbidden: may not be set together with schedulingGroup"});
  for (std::size_t i = 0; i < responders->size(); ++i) {
    const std::string path = fmt::format("spec.evictionResponders[{}]", i);
    const std::string problem = party_name_problem(api::text_at((*responders)[i], {"name"}));
    if (!problem.empty()) errors.push_back({path + ".name", "Invalid value: " + problem});
    const std::int64_t priority = api::number_at((*responders)[i], {"priority"}).value_or(-1);
    if (priority < 1000 || priority > 100'000) {
      errors.push_back(
          {path + ".priority", fmt::format("Invalid value: {}: must be between 1000 and 100000; priorities "
                                           "0-999 are reserved for responders with *.k8s.io suffix",
                                           priority)});
    }
  }
  return errors;
}

}  // namespace simulator::eviction_request
