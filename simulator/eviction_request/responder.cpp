#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "api/meta/well_known.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/eviction_request/sync.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/text.hpp"

/// Behavior of active responders: the default one (imperative) and the scripted ones.

namespace simulator::eviction_request {
namespace {

using api::Json;

constexpr base::minutes kMaxHeartbeatInterval{3};
constexpr base::seconds kMinHeartbeatInterval{5};

ResponderScript parse_items(std::string_view text) {
  ResponderScript script;
  for (const std::string_view item : split(text, ',')) {
    const auto [key, time] = split_pair(item, '=');
    const auto value = behaviour::parse_duration(time);
    if (key == "silent") script.act = ResponderScript::Act::kSilent;
    if (key == "evict") script.act = ResponderScript::Act::kEvict;
    if (key == "decline") script.act = ResponderScript::Act::kDecline;
    if ((key == "evict" || key == "decline") && value) script.after = *value;
    if (key == "heartbeat" && value) script.heartbeat = std::max<base::Duration>(*value, base::seconds(1));
    if (key == "eta") script.eta = value;
  }
  return script;
}

Json stamped(const Json& active, base::TimePoint now, const std::string& message) {
  Json entry = active;
  entry["heartbeatTime"] = base::format_time(now);
  if (!message.empty()) entry["message"] = message;
  return entry;
}

Json completed(const Json& active, base::TimePoint now, const std::string& message) {
  Json entry = stamped(active, now, message);
  entry["completionTime"] = base::format_time(now);
  entry.erase("expectedCompletionTime");
  return entry;
}

bool is_not_evictable(const Json& pod) {
  return facts_of(pod).controller_kind == "DaemonSet" || behaviour::is_set(pod, api::well_known::kMirrorAnnotation);
}

/// Returns true if the next heartbeat is due, or if there is a new message and the minimum interval has passed.
bool is_report_due(const Json& active, const ResponderMemory& memory, base::TimePoint now) {
  const auto last = time_at(active, {"heartbeatTime"});
  if (!last || now >= *last + kMaxHeartbeatInterval) return true;
  return !memory.message.empty() && memory.message != api::text_at(active, {"message"}) &&
         now >= *last + kMinHeartbeatInterval;
}

}  // namespace

ResponderScript responder_script(const Json& pod, std::string_view responder) {
  const std::string text = api::text_at(pod, {"metadata", "annotations", behaviour::kResponders});
  std::string_view general;
  for (const std::string_view entry : split(text, ';')) {
    const auto colon = entry.find(':');
    if (colon == std::string_view::npos) {
      general = entry;
    } else if (trim(entry.substr(0, colon)) == responder) {
      return parse_items(entry.substr(colon + 1));
    }
  }
  return parse_items(general);
}

ResponderStep imperative_step(const Json& active, const Json* pod, const ResponderMemory& memory, base::TimePoint now) {
  ResponderStep step;
  if (active.contains("completionTime")) return step;
  if (!pod || facts_of(*pod).is_terminal()) {
    step.entry = completed(active, now, "the pod is gone");
    return step;
  }
  if (is_not_evictable(*pod)) return step;
  const bool terminating = is_terminating(*pod);
  if (!terminating) {
    step.post_eviction = !memory.next_try || now >= *memory.next_try;
    step.due = memory.next_try;
  }
  if (is_report_due(active, memory, now)) {
    step.entry = stamped(active, now, memory.message);
    const auto ends = time_at(*pod, {"metadata", "deletionTimestamp"});
    if (terminating && ends && *ends > now) step.entry["expectedCompletionTime"] = base::format_time(*ends);
  }
  const auto last = step.entry.is_null() ? time_at(active, {"heartbeatTime"}) : std::optional(now);
  const base::TimePoint beat = last.value_or(now) + kMaxHeartbeatInterval;
  step.due = step.due && *step.due > now ? std::min(*step.due, beat) : beat;
  return step;
}

ResponderStep scripted_step(const Json& active, const Json* pod, const ResponderScript& script, base::TimePoint now) {
  ResponderStep step;
  const auto start = time_at(active, {"startTime"});
  if (active.contains("completionTime") || !start || script.act == ResponderScript::Act::kSilent) return step;
  if (!pod || facts_of(*pod).is_terminal()) {
    step.entry = completed(active, now, "the pod is gone");
    return step;
  }
  const base::TimePoint acts_at = *start + script.after;
  if (now >= acts_at && script.act == ResponderScript::Act::kDecline) {
    step.entry = completed(active, now, "declined");
    return step;
  }
  step.delete_pod = now >= acts_at && !is_terminating(*pod);
  const auto last = time_at(active, {"heartbeatTime"});
  if (!last || now >= *last + script.heartbeat) {
    step.entry = stamped(active, now, "at work");
    if (script.eta && *start + *script.eta > now)
      step.entry["expectedCompletionTime"] = base::format_time(*start + *script.eta);
  }
  const base::TimePoint beat = (step.entry.is_null() ? *last : now) + script.heartbeat;
  step.due = acts_at > now ? std::min(acts_at, beat) : beat;
  return step;
}

}  // namespace simulator::eviction_request
