#pragma once

/// Hooks of a policy (api/hooks.hpp) as steps of the evictor stateful-handoff: when a hook is due, which call starts
/// it, and what its answers and its Job's state mean. Pure. State that must survive a restart is in status.refs: hooks
/// (the hooks that exist), <point>Hook ("Running", "Succeeded", "Failed: why"), <point>HookLogs, <point>HookSince,
/// <point>HookTries, <point>HookNext.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/hooks.hpp"
#include "evictors/evictor.hpp"

namespace evictors::handoff {

enum class HookPoint { kPre, kMigrate, kPost, kUndo };
std::string_view to_string(HookPoint point);

/// spec.evacuation.hooks of the policy in spec.source.policy.
struct PolicyHooks {
  enum class State {
    kNone,     ///< hooks do not apply: there is no policy, or spec.evictors does not name this evictor
    kKnown,    ///< read in this reconcile; may have no hooks
    kPending,  ///< not read (yet)
    kUnusable  ///< fail closed: the policy does not exist (any more), or cannot be decoded
  };
  State state = State::kNone;
  api::EvacuationHooks hooks;  ///< with kUnusable: from status.refs, Jobs without template (hook_memory.hpp)
  bool remembered = false;     ///< with kUnusable: status.refs contains the hooks
  std::string problem;

  const api::Hook* at(HookPoint point) const;
};
/// Returns the hooks that apply. An unusable policy that is known to have had no hooks gives kKnown. A hook that
/// started in this attempt is kept, as recalled from status.refs, even if the policy no longer has it.
PolicyHooks policy_hooks(const EvictorContext& context);

/// Returns the reads of the policy and of the Jobs of the hooks that matter in this phase.
std::vector<Read> hook_reads(const EvictorContext& context);

/// Progress of one hook.
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
/// Returns true if the hook was started in this attempt, whatever its result.
bool is_hook_started(const EvictorContext& context, HookPoint point);

/// Returns the time at which a running webhook asked to be called again. Returns nullopt if none exists or the time
/// has come.
std::optional<base::TimePoint> next_hook_call(const EvictorContext& context);

/// Returns the refs to store before any hook starts.
Refs hook_memory_refs(const EvictorContext& context, const PolicyHooks& hooks);

/// Returns the changes that `run` makes to status.refs.
Refs hook_refs(const EvictorContext& context, const PolicyHooks& hooks, HookPoint point, const HookRun& run);

/// Returns the call that starts the hook or polls its webhook. REQUIRES: hooks.at(point).
Action hook_action(const EvictorContext& context, const PolicyHooks& hooks, HookPoint point);
/// Returns the call that ends the hook's running Job by a deadline of one second. Returns nullopt if no Job runs or the
/// call was already made.
std::optional<Action> stop_hook_job(const EvictorContext& context, HookPoint point);
/// Returns true if Evacuator's Job for the hook still runs.
bool hook_job_runs(const EvictorContext& context, HookPoint point);

bool is_hook_action(std::string_view action);
Classification classify_hook(const EvictorContext& context, const Action& action, const CallResult& answer);

}  // namespace evictors::handoff
