#include "api/eviction_request.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/json/lenient.hpp"
#include "api/json/strict_object.hpp"

namespace api {
namespace {

constexpr std::array kResponderStates = {
    WireName<ResponderState>{ResponderState::kInactive, "Inactive"},
    WireName<ResponderState>{ResponderState::kActive, "Active"},
    WireName<ResponderState>{ResponderState::kInterrupted, "Interrupted"},
    WireName<ResponderState>{ResponderState::kCanceled, "Canceled"},
    WireName<ResponderState>{ResponderState::kCompleted, "Completed"},
};

/// Returns the member, or an empty object if absent.
const Json& member(const Json& json, std::string_view name) {
  static const Json kEmpty = Json::object();
  const Json* found = lenient::object(json, name);
  return found ? *found : kEmpty;
}

template <typename F>
void for_each_object(const Json& json, std::string_view list, F&& each) {
  const Json* items = lenient::array(json, list);
  if (!items) return;
  for (const Json& item : *items) {
    if (item.is_object()) each(item);
  }
}

base::Result<Json> parse_named(std::string_view text) {
  auto json = parse_json(text);
  if (!json) return json.error();
  if (!json->is_object() || lenient::text(member(*json, "metadata"), "name").empty())
    return base::invalid("the answer is not an object with a name");
  return json;
}

/// Merges an entry of status.responders[] into the entries of targetResponders[]. New names are appended.
void read_responder(const Json& json, std::vector<NativeResponder>& to) {
  const std::string name = lenient::text(json, "name");
  if (name.empty()) return;
  auto at = std::ranges::find(to, name, &NativeResponder::name);
  if (at == to.end()) {
    at = to.insert(to.end(), NativeResponder());
    at->name = name;
  }
  at->start_time = lenient::time(json, "startTime");
  at->heartbeat_time = lenient::time(json, "heartbeatTime");
  at->expected_completion_time = lenient::time(json, "expectedCompletionTime");
  at->completion_time = lenient::time(json, "completionTime");
  at->message = lenient::text(json, "message");
}

NativeEviction eviction_of(const Json& json) {
  NativeEviction eviction;
  eviction.meta = lenient::meta(json);
  const Json& pod = member(member(member(json, "spec"), "target"), "pod");
  eviction.pod_name = lenient::text(pod, "name");
  eviction.pod_uid = {lenient::text(pod, "uid")};
  const Json& status = member(json, "status");
  eviction.conditions = lenient::conditions(status);
  for_each_object(status, "requesters", [&](const Json& each) {
    eviction.requesters.push_back({lenient::text(each, "name"), lenient::text(each, "intent") == "Withdrawn"});
  });
  for_each_object(status, "targetResponders", [&](const Json& each) {
    NativeResponder responder;
    responder.name = lenient::text(each, "name");
    responder.priority = lenient::integer(each, "priority");
    responder.state = value_of(kResponderStates, lenient::text(each, "state")).value_or(ResponderState::kInactive);
    if (!responder.name.empty()) eviction.responders.push_back(std::move(responder));
  });
  for_each_object(status, "responders", [&](const Json& each) { read_responder(each, eviction.responders); });
  return eviction;
}

}  // namespace

std::string_view to_string(ResponderState state) { return name_of(kResponderStates, state); }

bool NativeEviction::is_final() const { return is_true(conditions, "Failed") || is_true(conditions, "TargetEvicted"); }

const NativeResponder* NativeEviction::active() const {
  const auto at = std::ranges::find(responders, ResponderState::kActive, &NativeResponder::state);
  return at == responders.end() ? nullptr : &*at;
}

const NativeResponder* NativeEviction::responder(std::string_view name) const {
  const auto at = std::ranges::find(responders, name, &NativeResponder::name);
  return at == responders.end() ? nullptr : &*at;
}

base::Result<EvictionRequest> decode_eviction_request(std::string_view text) {
  const auto json = parse_named(text);
  if (!json) return json.error();
  EvictionRequest request;
  request.meta = lenient::meta(*json);
  const Json& spec = member(*json, "spec");
  const Json& pod = member(member(spec, "target"), "pod");
  request.pod_name = lenient::text(pod, "name");
  request.pod_uid = {lenient::text(pod, "uid")};
  request.requester = lenient::text(spec, "requester");
  if (request.requester.empty()) request.requester = lenient::text(spec, "requesterName");
  request.withdrawn = lenient::text(spec, "intent") == "Withdrawn";
  const Json& status = member(*json, "status");
  request.conditions = lenient::conditions(status);
  request.observed_generation = lenient::integer(status, "observedGeneration");
  return request;
}

base::Result<NativeEviction> decode_native_eviction(std::string_view text) {
  const auto json = parse_named(text);
  if (!json) return json.error();
  return eviction_of(*json);
}

base::Result<std::vector<NativeEviction>> decode_native_evictions(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return json.error();
  if (!json->is_object() || !lenient::array(*json, "items")) return base::invalid("the answer is not a list");
  std::vector<NativeEviction> evictions;
  for_each_object(*json, "items", [&](const Json& item) {
    NativeEviction eviction = eviction_of(item);
    if (!eviction.meta.name.empty()) evictions.push_back(std::move(eviction));
  });
  return evictions;
}

}  // namespace api
