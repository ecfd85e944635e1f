#include <fmt/format.h>

#include <algorithm>

#include "api/meta/well_known.hpp"
#include "api/virtual_machine.hpp"
#include "base/text.hpp"
#include "controllers/evacuation/eviction_request/responder.hpp"

namespace controllers {
namespace {

namespace names = api::well_known;
using api::EvacuationPhase;
using api::ResponderState;

constexpr std::size_t kMaxMessage = 1024;
constexpr std::string_view kRequestingEvictor = "eviction-request";

bool is_unfinished(const api::Evacuation& evacuation) { return !api::is_terminal(evacuation.status.phase); }

bool answers(const api::Evacuation& evacuation, const ResponderInput& seen) {
  if (!seen.eviction) return evacuation.meta.annotations.value(names::kNativeEvictionAnnotation) == seen.key.name;
  return evacuation.meta.annotations.value(names::kNativeEvictionUidAnnotation) == seen.eviction->meta.uid;
}

/// Whether the Evacuation is for the target's UID. An Evacuation without podRef.uid matches as well.
bool concerns(const api::Evacuation& evacuation, const api::NativeEviction& eviction) {
  const api::PodUid& uid = evacuation.spec.pod_ref.uid;
  return evacuation.spec.pod_ref.name == eviction.pod_name && (uid.empty() || uid == eviction.pod_uid);
}

/// Returns an unfinished Evacuation, otherwise the one created for this Eviction, otherwise the newest finished one.
const api::Evacuation* evacuation_of(const ResponderInput& seen) {
  const api::Evacuation* best = nullptr;
  const auto rank = [&](const api::Evacuation& each) {
    return std::tuple(is_unfinished(each), answers(each, seen), each.meta.creation_timestamp);
  };
  for (const auto& each : seen.evacuations) {
    if (!concerns(*each, *seen.eviction)) continue;
    if (!best || rank(*each) > rank(*best)) best = each.get();
  }
  return best;
}

api::Evacuation evacuation_for(const api::NativeEviction& eviction, const api::Pod& pod) {
  api::Evacuation wanted;
  wanted.meta.ns = eviction.meta.ns;
  wanted.meta.name = api::evacuation_name(pod.meta.name, pod.uid());
  wanted.meta.annotations = api::StringMap{{std::string(names::kNativeEvictionAnnotation), eviction.meta.name},
                                           {std::string(names::kNativeEvictionUidAnnotation), eviction.meta.uid}};
  wanted.spec.pod_ref = {pod.meta.name, pod.uid()};
  wanted.spec.node_name = pod.node_name;
  wanted.spec.reason = fmt::format("native Eviction {}", eviction.meta.name).substr(0, 200);
  const auto asks = std::ranges::find_if(eviction.requesters, [](const auto& each) { return !each.withdrawn; });
  if (asks != eviction.requesters.end()) wanted.spec.source.requester = asks->name;
  return wanted;
}

/// Returns `now` in whole seconds, as the API uses them, but not before the start or the previous heartbeat if clocks
/// differ.
base::TimePoint stamp(const api::NativeResponder& turn, base::TimePoint now) {
  base::TimePoint result = std::chrono::floor<base::seconds>(now);
  if (turn.start_time) result = std::max(result, *turn.start_time);
  if (turn.heartbeat_time) result = std::max(result, *turn.heartbeat_time);
  return result;
}

ResponderDecision complete(const api::NativeResponder& turn, std::string message, base::TimePoint now) {
  ResponderDecision decision;
  if (turn.completion_time) return decision;
  const base::TimePoint time = stamp(turn, now);
  decision.report = ResponderReport{time, {}, time, base::truncate_utf8(message, kMaxMessage)};
  return decision;
}

std::string describe(const api::Evacuation& evacuation) {
  const auto& status = evacuation.status;
  std::string text = fmt::format("Evacuation {}: {}", evacuation.meta.name, api::to_string(status.phase));
  if (!status.evictor.empty()) text += ", evictor " + status.evictor;
  if (!status.blocked_by.empty()) {
    text += fmt::format(", blocked by {} {}", status.blocked_by.front().kind, status.blocked_by.front().name);
  } else if (!status.message.empty()) {
    text += ", " + status.message;
  }
  return base::truncate_utf8(text, kMaxMessage);
}

/// Returns nullopt for a time in the past, which the server refuses.
std::optional<base::TimePoint> announced_end(const api::Evacuation* evacuation, const api::Pod& pod,
                                             base::TimePoint now) {
  std::optional<base::TimePoint> end = pod.meta.deletion_timestamp;
  if (!end && evacuation) end = evacuation->status.expected_completion_at;
  if (end) end = std::chrono::ceil<base::seconds>(*end);
  return end && *end > now + base::seconds(1) ? end : std::nullopt;
}

ResponderDecision beat(const api::NativeResponder& turn, std::string message, std::optional<base::TimePoint> expected,
                       base::TimePoint now) {
  ResponderDecision decision;
  const bool news = message != turn.message || (expected && expected != turn.expected_completion_time);
  const base::Duration pause = news ? base::Duration(kMinHeartbeatInterval) : base::Duration(kMaxHeartbeatInterval);
  const base::TimePoint due = turn.heartbeat_time ? *turn.heartbeat_time + pause : now;
  if (due > now) {
    decision.requeue = kube::Requeue::in(due - now);
    return decision;
  }
  decision.report = ResponderReport{stamp(turn, now), expected, {}, std::move(message)};
  decision.requeue = kube::Requeue::in(kMaxHeartbeatInterval);
  return decision;
}

ResponderDecision begin_evacuation(const ResponderInput& seen, const api::NativeResponder& turn, base::TimePoint now) {
  api::Evacuation wanted = evacuation_for(*seen.eviction, *seen.pod);
  ResponderDecision decision = beat(turn, fmt::format("Evacuation {} is being created", wanted.meta.name), {}, now);
  decision.create = std::move(wanted);
  return decision;
}

ResponderDecision respond(const ResponderInput& seen, const api::NativeResponder& turn, base::TimePoint now) {
  if (!seen.pod || seen.pod->is_terminal()) return complete(turn, "the pod has left", now);
  if (seen.pod->is_daemon_set() || seen.pod->is_mirror() || api::is_hotplug_pod(*seen.pod))
    return complete(turn, "declined: pods of DaemonSets, static pods and disks of VMs are not evacuated", now);
  const api::Evacuation* evacuation = evacuation_of(seen);
  if (!evacuation) return begin_evacuation(seen, turn, now);
  if (!is_unfinished(*evacuation)) {
    return complete(
        turn,
        fmt::format("declined: Evacuation {} ended as {}/{}: {}", evacuation->meta.name,
                    api::to_string(evacuation->status.phase), evacuation->status.reason, evacuation->status.message),
        now);
  }
  if (evacuation->status.evictor == kRequestingEvictor)
    return complete(turn, "declined: Evacuator itself requested this eviction", now);
  if (evacuation->spec.suspend) return {};  // a suspended Evacuation makes no progress: no heartbeat
  return beat(turn, describe(*evacuation), announced_end(evacuation, *seen.pod, now), now);
}

bool can_be_stopped(const api::Evacuation& evacuation) {
  const EvacuationPhase phase = evacuation.status.phase;
  const bool leaving = phase == EvacuationPhase::kEvicting || phase == EvacuationPhase::kVerifying;
  return is_unfinished(evacuation) && !leaving && !evacuation.spec.cancel.requested;
}

ResponderDecision stop(const ResponderInput& seen) {
  ResponderDecision decision;
  for (const auto& each : seen.evacuations) {
    if (answers(*each, seen) && can_be_stopped(*each)) decision.cancel.push_back(each->meta.key());
  }
  return decision;
}

}  // namespace

ResponderDecision decide_response(const ResponderInput& seen, base::TimePoint now) {
  if (!seen.eviction || seen.eviction->is_final()) return stop(seen);
  const api::NativeResponder* turn = seen.eviction->responder(names::kNativeResponder);
  if (!turn) return {};
  switch (turn->state) {
    case ResponderState::kInactive:
    case ResponderState::kCompleted: return {};
    case ResponderState::kInterrupted:
    case ResponderState::kCanceled: return stop(seen);
    case ResponderState::kActive: break;
  }
  return respond(seen, *turn, now);
}

}  // namespace controllers
