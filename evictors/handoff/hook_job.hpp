#pragma once

/// Hooks as Kubernetes Jobs: the Job to create, and the meaning of its state. Pure; part of hooks.hpp.

#include <string>
#include <string_view>

#include "api/hooks.hpp"
#include "api/json/json.hpp"
#include "evictors/evictor.hpp"
#include "evictors/handoff/hooks.hpp"

namespace evictors::handoff {

inline constexpr std::string_view kStopJobPrefix = "StopHookJob";

/// Returns "evac-<evacuation uid>-<attempt>-<point>". The fixed name makes a repeated create find the existing Job.
std::string hook_job_name(const EvictorContext& context, HookPoint point);
/// Returns "kubectl logs job/<name> -n <namespace>".
std::string hook_job_logs(const EvictorContext& context, HookPoint point);

/// Returns the Job for the pod's namespace: the policy's template with Evacuator's labels and environment, `retries` as
/// backoffLimit and `timeout` as activeDeadlineSeconds. The Evacuation owns the Job, so the Job is deleted with it.
api::Json hook_job(const EvictorContext& context, const api::Hook& hook, HookPoint point);

Read hook_job_read(const EvictorContext& context, HookPoint point);

struct HookJob {
  enum class State { kUnknown, kAbsent, kForeign, kRunning, kSucceeded, kFailed };
  State state = State::kUnknown;
  std::string message;  ///< kFailed: "DeadlineExceeded: …"; kForeign: why the Job is foreign
  std::string uid;
  bool stop_requested = false;
};
/// Evaluates the Job that was read. The Job with the UID from the create call's answer is Evacuator's. If that answer
/// was lost, the Job must be owned only by the Evacuation and match `hook` exactly, because any user with write access
/// to the namespace can create a Job with arbitrary name and labels. Pass nullptr as `hook` if the Job is only read to
/// be stopped; its owner is then sufficient.
HookJob read_hook_job(const EvictorContext& context, HookPoint point, const api::Hook* hook);

/// Returns "<prefix><Point>", the name of a hook's action.
std::string hook_action_name(std::string_view prefix, HookPoint point);

/// Key of status.refs for the UID of the hook's Job.
std::string hook_job_uid_ref(HookPoint point);

}  // namespace evictors::handoff
