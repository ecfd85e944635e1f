#pragma once

/// The hooks of a policy (api/hooks.hpp) as steps of the evictor stateful-handoff: when a hook is due, how it is asked,
/// what its answers and its Job's state mean. Pure. What has to outlive a process stands in status.refs: hooks (which
/// there are), <point>Hook ("Running", "Succeeded", "Failed: why"), <point>HookLogs, <point>HookSince,
/// <point>HookTries, <point>HookNext.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/hooks.hpp"
#include "evictors/evictor.hpp"

namespace evictors::handoff {

enum class HookPoint { kPre, kMigrate, kPost, kUndo };
std::string_view to_string(HookPoint point);  ///< "pre"…

/// spec.evacuation.hooks of the policy in spec.source.policy.
struct PolicyHooks {
  enum class State {
    kNone,     ///< no policy, or this evictor is not named in spec.evictors: hooks do not apply
    kKnown,    ///< read just now; may still be empty
    kPending,  ///< not read (yet)
    kUnusable  ///< there is no such policy (any more), or it does not decode: fail closed
  };
  State state = State::kNone;
  api::EvacuationHooks hooks;  ///< kUnusable: as the attempt remembers them, Jobs without template (hook_memory.hpp)
  bool remembered = false;     ///< kUnusable: the attempt knows which there were
  std::string problem;

  const api::Hook* at(HookPoint point) const;
};
/// A policy that is unusable but is known to have had no hooks is kKnown: nothing of it is missing. A hook that has
/// begun in this attempt stays, as it is remembered, though the policy has lost it since.
PolicyHooks policy_hooks(const EvictorContext& context);

/// The policy, and the Jobs of the hooks that matter in this phase.
std::vector<Read> hook_reads(const EvictorContext& context);

/// How far one hook is.
struct HookRun {
  enum class State { kNone, kDue, kWaiting, kSucceeded, kFailed };
  State state = State::kNone;
  std::string message;
  bool ignored = false;  ///< failurePolicy Ignore

  bool over() const { return state == State::kNone || state == State::kSucceeded || (failed() && ignored); }
  bool failed() const { return state == State::kFailed; }
  bool aborts() const { return failed() && !ignored; }
};
HookRun hook_run(const EvictorContext& context, const PolicyHooks& hooks, HookPoint point);
/// It was asked for in this attempt, whatever came of it.
bool hook_begun(const EvictorContext& context, HookPoint point);

/// When a webhook that is at work wants to be asked again; nullopt: none said so, or the time has come.
std::optional<base::TimePoint> next_hook_call(const EvictorContext& context);

/// What the attempt has to remember of them; to be stored before any of them begins.
Refs hook_memory_refs(const EvictorContext& context, const PolicyHooks& hooks);

/// What `run` adds to status.refs.
Refs hook_refs(const EvictorContext& context, const PolicyHooks& hooks, HookPoint point, const HookRun& run);

/// The call that starts it, or asks a webhook again. REQUIRES: hooks.at(point).
Action hook_action(const EvictorContext& context, const PolicyHooks& hooks, HookPoint point);
/// Ends its running Job by a deadline of one second; nullopt: none runs, or it is told already.
std::optional<Action> stop_hook_job(const EvictorContext& context, HookPoint point);
/// A Job of ours for that hook still runs.
bool hook_job_runs(const EvictorContext& context, HookPoint point);

bool is_hook_action(const Action& action);
Classification classify_hook(const EvictorContext& context, const Action& action, const CallResult& answer);

}  // namespace evictors::handoff
