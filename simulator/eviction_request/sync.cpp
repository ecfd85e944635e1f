#include "simulator/eviction_request/sync.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/json/json_access.hpp"
#include "kube/resource.hpp"
#include "simulator/pod_facts.hpp"

/// Algorithm of the evictionrequest-controller.

namespace simulator::eviction_request {
namespace {

using api::Json;

constexpr int kDefaultPriority = 100;
constexpr std::size_t kMaxName = 253;

bool has_failed(const Json& object) { return condition_value(object, "Failed") == "True"; }
bool has_succeeded(const Json& object) { return condition_value(object, "TargetEvicted") == "True"; }
bool is_over(const Json& object) { return has_failed(object) || has_succeeded(object); }

std::string requester_of(const Json& request) {
  const std::string name = api::text_at(request, {"spec", "requester"});
  return name.empty() ? api::text_at(request, {"spec", "requesterName"}) : name;
}

bool asks_for_eviction(const Json& request) {
  return api::text_at(request, {"spec", "intent"}) == "Eviction" && !is_terminating(request);
}

/// Returns why the request is invalid, empty if it is valid.
std::string request_problem(const Json& request, const TargetState& state) {
  if (!api::find_at(request, {"spec", "target", "pod"})) return "Unsupported target.";
  if (!state.evictions.empty()) return {};
  if (!state.pod) return "Target pod not found.";
  if (uid_of(*state.pod) != state.target.uid) return "Target pod UID does not match.";
  if (api::find_at(*state.pod, {"spec", "schedulingGroup"})) return "Target pod belongs to a scheduling group.";
  return {};
}

// --- the order of the responders

/// Sort key for ties: "db.acme.io/x" becomes (io, acme, db), x, so that names sort by domain from the top level down,
/// then by the rest.
std::pair<std::vector<std::string>, std::string> domain_first(const std::string& name) {
  const auto slash = name.find('/');
  std::vector<std::string> labels;
  std::string domain = name.substr(0, slash);
  while (!domain.empty()) {
    const auto dot = domain.rfind('.');
    labels.push_back(dot == std::string::npos ? domain : domain.substr(dot + 1));
    domain = dot == std::string::npos ? std::string() : domain.substr(0, dot);
  }
  return {std::move(labels), slash == std::string::npos ? std::string() : name.substr(slash + 1)};
}

std::vector<std::pair<std::string, std::int64_t>> responders_of(const Json* pod) {
  std::vector<std::pair<std::string, std::int64_t>> found;
  if (pod) {
    for (const Json& each : api::items_at(*pod, {"spec", "evictionResponders"}))
      found.emplace_back(api::text_at(each, {"name"}), api::number_at(each, {"priority"}).value_or(0));
  }
  found.emplace_back(std::string(kImperativeResponder), kDefaultPriority);
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : domain_first(a.first) < domain_first(b.first);
  });
  return found;
}

void initialise_responders(Json& status, const Json* pod) {
  if (!array_in(status, "targetResponders").empty()) return;
  for (const auto& [name, priority] : responders_of(pod)) {
    status["targetResponders"].push_back({{"name", name}, {"priority", priority}, {"state", "Inactive"}});
    status["responders"].push_back({{"name", name}});
  }
}

Json* entry_with(Json& status, const char* list, std::string_view member, const std::string& value) {
  for (Json& each : array_in(status, list)) {
    if (api::text_at(each, {member}) == value) return &each;
  }
  return nullptr;
}

Json* active_turn(Json& status) { return entry_with(status, "targetResponders", "state", "Active"); }

/// Activates the next responder. Returns false if there is none left.
bool activate_next(Json& status, base::TimePoint now) {
  Json* next = entry_with(status, "targetResponders", "state", "Inactive");
  if (!next) return false;
  (*next)["state"] = "Active";
  if (Json* entry = entry_with(status, "responders", "name", api::text_at(*next, {"name"})))
    (*entry)["startTime"] = base::format_time(now);
  return true;
}

// --- the status of an Eviction

void conclude(Json& status, const char* failed, const char* failed_why, const char* evicted, const char* evicted_why,
              const std::string& message, base::TimePoint now) {
  put_condition(status, "Failed", failed, failed_why, message, now);
  put_condition(status, "TargetEvicted", evicted, evicted_why, message, now);
}

void activate_or_advance(Json& status, const Options& options, base::TimePoint now) {
  Json* turn = active_turn(status);
  if (turn) {
    const Json* entry = entry_with(status, "responders", "name", api::text_at(*turn, {"name"}));
    const auto life = entry ? last_life(*entry) : std::nullopt;
    if (entry && entry->contains("completionTime")) {
      (*turn)["state"] = "Completed";
    } else if (life && now - *life >= options.heartbeat_deadline) {
      (*turn)["state"] = "Interrupted";
    } else {
      return;
    }
  }
  if (activate_next(status, now)) return;
  conclude(status, "True", "NoFurtherResponder", "False", "EvictionFailed",
           "No further responder can evict the target.", now);
}

void cancel(Json& status, base::TimePoint now) {
  if (Json* turn = active_turn(status)) (*turn)["state"] = "Canceled";
  conclude(status, "True", "CanceledDueToNoRequesters", "False", "EvictionFailed", "No requester is left.", now);
}

/// Concludes the Eviction after the pod has left. The active responder gets completion_delay to report completion.
void succeed(Json& status, const TargetState& state, const Options& options, base::TimePoint now) {
  Json* turn = active_turn(status);
  const Json* entry = turn ? entry_with(status, "responders", "name", api::text_at(*turn, {"name"})) : nullptr;
  const bool reported = !entry || entry->contains("completionTime");
  if (!reported && now < state.left_at.value_or(now) + options.completion_delay) return;
  if (turn && reported) (*turn)["state"] = "Completed";
  const bool terminal = state.pod && uid_of(*state.pod) == state.target.uid;
  conclude(status, "False", "Succeeded", "True", terminal ? "PodTerminal" : "PodDeleted", "", now);
}

void record_requesters(Json& status, const TargetState& state) {
  std::map<std::string, bool> intents;  // true for Eviction
  for (const Json& known : array_in(status, "requesters")) intents[api::text_at(known, {"name"})] = false;
  for (const Object& request : state.requests)
    intents[requester_of(*request)] = intents[requester_of(*request)] || asks_for_eviction(*request);
  Json list = Json::array();
  for (const auto& [name, wants] : intents)
    list.push_back({{"name", name}, {"intent", wants ? "Eviction" : "Withdrawn"}});
  status["requesters"] = std::move(list);
}

bool anybody_asks(const Json& status) {
  return std::ranges::any_of(api::items_at(status, {"requesters"}),
                             [](const Json& each) { return api::text_at(each, {"intent"}) == "Eviction"; });
}

/// Returns true if an older Eviction of the target is still open.
bool is_second(const Json& eviction, const TargetState& state) {
  for (const Object& other : state.evictions) {
    if (uid_of(*other) == uid_of(eviction)) return false;
    if (!is_over(*other)) return true;
  }
  return false;
}

void sync_owners(Json& eviction, const TargetState& state) {
  Json owners = Json::array();
  for (const Object& request : state.requests) {
    owners.push_back({{"apiVersion", kube::kEvictionRequests.api_version()},
                      {"kind", kube::kEvictionRequests.kind},
                      {"name", api::text_at(*request, {"metadata", "name"})},
                      {"uid", uid_of(*request)}});
  }
  if (!owners.empty()) eviction["metadata"]["ownerReferences"] = std::move(owners);
}

/// Returns when labels are added, which happens some time after creation.
base::TimePoint labels_due(const Json& eviction, const Options& options) {
  return time_at(eviction, {"metadata", "creationTimestamp"}).value_or(base::TimePoint{}) + options.label_delay;
}

void sync_labels(Json& eviction, const Options& options) {
  std::set<std::string> requesters;
  std::set<std::string> responders;
  for (const Json& each : array_in(eviction["status"], "requesters")) requesters.insert(api::text_at(each, {"name"}));
  for (const Json& each : array_in(eviction["status"], "targetResponders"))
    responders.insert(api::text_at(each, {"name"}));
  Json& labels = object_in(eviction["metadata"], "labels");
  for (const std::string& name : requesters) labels[name] = "requester";
  for (const std::string& name : responders) {
    const bool both = requesters.contains(name);
    labels[name] = !both ? "responder" : options.draft_names ? "requesterresponder" : "requester-responder";
  }
}

void sync_metadata(Json& eviction, const TargetState& state, const Options& options, base::TimePoint now) {
  if (labels_due(eviction, options) <= now) sync_labels(eviction, options);
  sync_owners(eviction, state);
}

/// Returns the Eviction that a request's status reflects: the latest successful one, else the oldest open one, else the
/// latest failed one.
const Json* relevant_eviction(const TargetState& state) {
  const Json* failed = nullptr;
  const Json* open = nullptr;
  const Json* succeeded = nullptr;
  for (const Object& each : state.evictions) {
    if (has_succeeded(*each)) {
      succeeded = each.get();
    } else if (has_failed(*each)) {
      failed = each.get();
    } else if (!open) {
      open = each.get();
    }
  }
  return succeeded ? succeeded : open ? open : failed;
}

bool is_complete_request(const Json& request) {
  const bool invalid = has_failed(request) && condition_value(request, "Failed", "reason") == "EvictionInvalid";
  const bool unchanged =
      api::number_at(request, {"metadata", "generation"}) == api::number_at(request, {"status", "observedGeneration"});
  return unchanged && (invalid || has_succeeded(request));
}

void copy_condition(const Json& eviction, Json& status, const char* type, base::TimePoint now) {
  const Json* found = condition_of(eviction, type);
  if (!found) return;
  put_condition(status, type, api::text_at(*found, {"status"}), api::text_at(*found, {"reason"}),
                api::text_at(*found, {"message"}), now);
}

}  // namespace

const Json* status_entry(const Json& eviction, std::string_view list, std::string_view member, std::string_view value) {
  const Json& entries = api::items_at(eviction, {"status", list});
  const auto found =
      std::ranges::find_if(entries, [&](const Json& each) { return api::text_at(each, {member}) == value; });
  return found == entries.end() ? nullptr : &*found;
}

std::optional<base::TimePoint> last_life(const Json& entry) {
  const auto heartbeat = time_at(entry, {"heartbeatTime"});
  return heartbeat ? heartbeat : time_at(entry, {"startTime"});
}

bool TargetState::pod_stays() const { return pod && uid_of(*pod) == target.uid && !facts_of(*pod).is_terminal(); }

int eviction_number(const Json& eviction) {
  const std::string name = api::text_at(eviction, {"metadata", "name"});
  return name.starts_with("pod-") ? std::atoi(name.c_str() + 4) : 0;
}

bool is_effective(const Json& request, const TargetState& state) {
  return asks_for_eviction(request) && request_problem(request, state).empty() && !is_complete_request(request);
}

bool needs_eviction(const TargetState& state) {
  const bool asked =
      std::ranges::any_of(state.requests, [&](const Object& each) { return is_effective(*each, state); });
  // A terminal pod also gets an Eviction, which ends immediately, so that the request gets a status.
  return asked && std::ranges::all_of(state.evictions, [](const Object& each) { return has_failed(*each); });
}

Json make_eviction(const TargetState& state) {
  int highest = 0;
  for (const Object& each : state.evictions) highest = std::max(highest, eviction_number(*each));
  std::string name = fmt::format("pod-{}-{}", highest + 1, state.target.pod);
  if (name.size() > kMaxName) name.resize(kMaxName);
  Json eviction = {{"apiVersion", kube::kNativeEvictions.api_version()},
                   {"kind", kube::kNativeEvictions.kind},
                   {"metadata", {{"name", name}, {"namespace", state.target.ns}}},
                   {"spec", {{"target", {{"pod", {{"name", state.target.pod}, {"uid", state.target.uid}}}}}}},
                   {"status", Json::object()}};
  record_requesters(eviction["status"], state);
  sync_owners(eviction, state);
  return eviction;
}

Json next_eviction(const Json& eviction, const TargetState& state, const Options& options, base::TimePoint now) {
  Json next = eviction;
  Json& status = object_in(next, "status");
  status["observedGeneration"] = api::number_at(eviction, {"metadata", "generation"}).value_or(1);
  record_requesters(status, state);
  if (is_over(eviction)) {
    sync_metadata(next, state, options, now);
    return next;
  }
  if (!condition_of(eviction, "Failed"))
    conclude(status, "False", "AwaitingEviction", "False", "AwaitingEviction", "", now);
  const bool here = state.pod && uid_of(*state.pod) == state.target.uid;
  initialise_responders(status, here ? state.pod.get() : nullptr);
  if (is_second(eviction, state)) {
    conclude(status, "True", "EvictionInvalid", "False", "EvictionFailed",
             "Active Eviction already exists for the same target.", now);
  } else if (!state.pod_stays()) {
    succeed(status, state, options, now);
  } else if (!anybody_asks(status)) {
    cancel(status, now);
  } else {
    activate_or_advance(status, options, now);
  }
  sync_metadata(next, state, options, now);
  return next;
}

Json next_request(const Json& request, const TargetState& state, base::TimePoint now) {
  Json next = request;
  if (is_complete_request(request)) return next;
  Json& status = object_in(next, "status");
  status["observedGeneration"] = api::number_at(request, {"metadata", "generation"}).value_or(1);
  if (const std::string problem = request_problem(request, state); !problem.empty()) {
    conclude(status, "True", "EvictionInvalid", "False", "EvictionFailed", problem, now);
  } else if (const Json* eviction = relevant_eviction(state)) {
    copy_condition(*eviction, status, "Failed", now);
    copy_condition(*eviction, status, "TargetEvicted", now);
  }
  return next;
}

std::optional<base::TimePoint> due_time_of(const Json& eviction, const TargetState& state, const Options& options) {
  if (!api::find_at(eviction, {"metadata", "labels"})) return labels_due(eviction, options);
  if (is_over(eviction)) return std::nullopt;
  if (!state.pod_stays() && state.left_at) return *state.left_at + options.completion_delay;
  const Json* turn = status_entry(eviction, "targetResponders", "state", "Active");
  const Json* entry = turn ? status_entry(eviction, "responders", "name", api::text_at(*turn, {"name"})) : nullptr;
  const auto life = entry ? last_life(*entry) : std::nullopt;
  return life ? std::optional(*life + options.heartbeat_deadline) : std::nullopt;
}

}  // namespace simulator::eviction_request
