#include "api/eviction_request.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/json/fields.hpp"

namespace api {
namespace {

constexpr std::array kResponderStates = {
    WireName<ResponderState>{ResponderState::kInactive, "Inactive"},
    WireName<ResponderState>{ResponderState::kActive, "Active"},
    WireName<ResponderState>{ResponderState::kInterrupted, "Interrupted"},
    WireName<ResponderState>{ResponderState::kCanceled, "Canceled"},
    WireName<ResponderState>{ResponderState::kCompleted, "Completed"},
};

}  // namespace

constexpr const auto& wire_names(ResponderState) { return kResponderStates; }

/// Fields of an entry of status.responders[], without its name.
template <>
inline constexpr auto kFields<NativeResponder> = std::tuple{
    field("startTime", &NativeResponder::start_time), field("heartbeatTime", &NativeResponder::heartbeat_time),
    field("expectedCompletionTime", &NativeResponder::expected_completion_time),
    field("completionTime", &NativeResponder::completion_time), field("message", &NativeResponder::message)};

namespace {

base::Result<Json> parse_named(std::string_view text) {
  auto json = parse_json(text);
  if (!json) return json.error();
  if (!json->is_object() || text_at(*json, {"metadata", "name"}).empty())
    return base::invalid("the answer is not an object with a name");
  return json;
}

bool is_withdrawn(const Json& json) { return text_at(json, {"intent"}) == "Withdrawn"; }

/// Merges an entry of status.responders[] into the entries of targetResponders[]. New names are appended.
void read_responder(const Json& json, std::vector<NativeResponder>& to) {
  const std::string name = text_at(json, {"name"});
  if (name.empty()) return;
  auto at = std::ranges::find(to, name, &NativeResponder::name);
  if (at == to.end()) {
    at = to.insert(to.end(), NativeResponder());
    at->name = name;
  }
  NativeResponder next;
  next.name = name;
  next.priority = at->priority;
  next.state = at->state;
  lenient::read(json, next);
  *at = std::move(next);
}

NativeEviction eviction_of(const Json& json) {
  NativeEviction eviction;
  eviction.meta = lenient::meta(json);
  eviction.pod_name = text_at(json, {"spec", "target", "pod", "name"});
  eviction.pod_uid = {text_at(json, {"spec", "target", "pod", "uid"})};
  lenient::read(items_at(json, {"status", "conditions"}), eviction.conditions);
  for (const Json& each : items_at(json, {"status", "requesters"})) {
    if (each.is_object()) eviction.requesters.push_back({text_at(each, {"name"}), is_withdrawn(each)});
  }
  for (const Json& each : items_at(json, {"status", "targetResponders"})) {
    NativeResponder responder;
    responder.name = text_at(each, {"name"});
    lenient::read(each, "priority", responder.priority);
    lenient::read(each, "state", responder.state);
    if (!responder.name.empty()) eviction.responders.push_back(std::move(responder));
  }
  for (const Json& each : items_at(json, {"status", "responders"})) read_responder(each, eviction.responders);
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
  request.pod_name = text_at(*json, {"spec", "target", "pod", "name"});
  request.pod_uid = {text_at(*json, {"spec", "target", "pod", "uid"})};
  request.requester = text_at(*json, {"spec", "requester"});
  if (request.requester.empty()) request.requester = text_at(*json, {"spec", "requesterName"});
  request.withdrawn = text_at(*json, {"spec", "intent"}) == "Withdrawn";
  lenient::read(items_at(*json, {"status", "conditions"}), request.conditions);
  if (const Json* generation = find_at(*json, {"status", "observedGeneration"}))
    lenient::read(*generation, request.observed_generation);
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
  const Json* items = find_at(*json, {"items"});
  if (!items || !items->is_array()) return base::invalid("the answer is not a list");
  std::vector<NativeEviction> evictions;
  for (const Json& item : *items) {
    NativeEviction eviction = eviction_of(item);
    if (!eviction.meta.name.empty()) evictions.push_back(std::move(eviction));
  }
  return evictions;
}

}  // namespace api
