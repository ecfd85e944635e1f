#pragma once

/// Hooks as Kubernetes Jobs: what is created, and what its state means. Pure; part of hooks.hpp.

#include <string>
#include <string_view>

#include "api/hooks.hpp"
#include "api/json/json.hpp"
#include "evictors/evictor.hpp"
#include "evictors/handoff/hooks.hpp"

namespace evictors::handoff {

inline constexpr std::string_view kStopJobPrefix = "StopHookJob";

/// "evac-<evacuation uid>-<attempt>-<point>": one name per attempt and hook, so a repeated create finds the first one.
std::string hook_job_name(const EvictorContext& context, HookPoint point);
/// "kubectl logs job/<name> -n <namespace>".
std::string hook_job_logs(const EvictorContext& context, HookPoint point);

/// The Job in the pod's namespace: the policy's template with our labels and environment, `retries` as backoffLimit,
/// `timeout` as activeDeadlineSeconds, owned by the Evacuation so that nothing outlives it.
api::Json hook_job(const EvictorContext& context, const api::Hook& hook, HookPoint point);

Read hook_job_read(const EvictorContext& context, HookPoint point);

struct HookJob {
  enum class State { kUnknown, kAbsent, kForeign, kRunning, kSucceeded, kFailed };
  State state = State::kUnknown;
  std::string message;  ///< kFailed: "DeadlineExceeded: …"; kForeign: what tells that it is not ours
  std::string uid;
  bool told_to_stop = false;
};
/// The Job as it was read. Ours is the one that our create answered with; where that answer was lost, one that only the
/// Evacuation owns and that does what `hook` says, no more and no less: whoever may edit the namespace can make a Job
/// of any name and labels. `hook` nullptr: it is read only to be stopped, and its owner is enough.
HookJob read_hook_job(const EvictorContext& context, HookPoint point, const api::Hook* hook);

/// Key of status.refs: the UID of the Job that was made for the hook.
std::string hook_job_uid_ref(HookPoint point);

}  // namespace evictors::handoff
