#include "evictors/handoff/stateful_handoff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "api/meta/well_known.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/handoff/adapter.hpp"
#include "evictors/handoff/annotation.hpp"
#include "evictors/handoff/hook_job.hpp"
#include "evictors/handoff/protocol.hpp"
#include "evictors/timeouts.hpp"

namespace evictors::handoff {
namespace {

/// Allowance on top of a hook's own timeout. The hook enforces that timeout.
constexpr base::seconds kHookSlack{90};
/// Maximum time in InProgress without a request to the pod's operator.
constexpr base::seconds kIdleInProgress{60};

/// Returns the adapter that this attempt began with, else the one in the parameter, else the first that recognises the
/// pod. Returns nullptr if none exists.
const Adapter* adapter_of(const EvictorContext& context) {
  const api::EvacuationStatus& status = context.evacuation.status;
  if (status.evictor == StatefulHandoff::kName && !status.adapter.empty()) return find_adapter(status.adapter);
  if (const auto forced = context.parameter(kAdapterParameter, ""); !forced.empty()) return find_adapter(forced);
  if (!context.pod) return nullptr;
  for (const auto& each : adapters()) {
    if (each->recognises(*context.pod)) return each.get();
  }
  // Hooks replace the missing operator.
  return policy_hooks(context).hooks.empty() ? nullptr : find_adapter("none");
}

/// Returns adapter_of(), or `none`, which does nothing, if there is no adapter.
const Adapter& acting(const EvictorContext& context) {
  const Adapter* adapter = adapter_of(context);
  return adapter ? *adapter : *find_adapter("none");
}

/// Like acting(). Without a pod it is `none`.
const Adapter& acting_on_pod(const EvictorContext& context) {
  return context.pod ? acting(context) : *find_adapter("none");
}

/// Returns true if the pod requires the handoff protocol but `adapter` is another one. No parameter may bypass it.
bool must_be_asked(const api::Pod& pod, const Adapter& adapter) {
  const std::string* mode = pod.meta.annotations.find(api::well_known::kHandoffMode);
  return mode && *mode != "optional" && adapter.name() != "generic";
}

/// Returns true if the last call of this attempt was not a hook's.
bool was_requested(const EvictorContext& context) {
  const api::EvacuationIntent* intent = context.intent();
  return intent && !is_hook_action(intent->action);
}

/// Ends an attempt that waits without having made a request, so that its slot becomes free. Retryable only if the API
/// server gave no answer.
std::optional<RemoteFailure> idle_too_long(const EvictorContext& context, const Observation& seen,
                                           const Adapter& adapter) {
  const api::EvacuationStatus& status = context.evacuation.status;
  // The generic protocol has its own deadlines, and `none` has no operator.
  if (adapter.name() == AnnotationEvictor::kGeneric || adapter.name() == "none") return std::nullopt;
  const bool waits = status.phase == EvacuationPhase::kInProgress && !seen.requested && !seen.ready && !seen.vanished;
  if (!waits || was_requested(context) || !status.in_progress_since) return std::nullopt;
  if (context.now < *status.in_progress_since + kIdleInProgress) return std::nullopt;
  const std::string why = adapter.plan(context).why;
  const bool unread = std::any_of(context.documents.begin(), context.documents.end(),
                                  [](const Document& each) { return each.status == 0 || each.status >= 500; });
  return RemoteFailure{"Unsupported",
                       fmt::format("adapter {} could not send its request within {}{}{}", adapter.name(),
                                   base::format_duration(kIdleInProgress), why.empty() ? "" : ": ", why),
                       unread, true, api::Reason::kNotEvictable};
}

/// Returns why the policy's hooks cannot run for this pod, empty if they can.
std::string hooks_problem(const EvictorContext& context, const PolicyHooks& hooks, const Adapter& adapter) {
  if (hooks.state == PolicyHooks::State::kUnusable) return hooks.problem;
  if (hooks.at(HookPoint::kMigrate) && adapter.name() != "none") {
    return fmt::format("hooks.migrate applies only to pods without an adapter; this pod has adapter {}",
                       adapter.name());
  }
  for (const HookPoint point : {HookPoint::kPre, HookPoint::kPost, HookPoint::kUndo}) {
    const api::Hook* hook = hooks.at(point);
    if (!hook || hook->is_job()) continue;
    if (std::find(context.services.begin(), context.services.end(), hook->service) != context.services.end()) continue;
    return fmt::format("hooks.{}: service {} is not in the operator's configuration", to_string(point), hook->service);
  }
  return {};
}

/// Returns true if the policy's hooks cannot be run or read. No other evictor runs hooks.
bool lacks_hooks(const EvictorContext& context, const Adapter* adapter) {
  const PolicyHooks hooks = policy_hooks(context);
  if (hooks.state == PolicyHooks::State::kKnown) return adapter && !hooks_problem(context, hooks, *adapter).empty();
  return hooks.state != PolicyHooks::State::kNone;
}

/// Returns the hook to run before the adapter's own plan.
std::optional<HookPoint> hook_before_plan(const EvictorContext& context) {
  switch (context.phase()) {
    case EvacuationPhase::kPreparing: return HookPoint::kPre;
    case EvacuationPhase::kRequesting:
    case EvacuationPhase::kInProgress: return HookPoint::kMigrate;
    default: return std::nullopt;
  }
}

/// The reason is "PreHookFailed" and so on.
RemoteFailure hook_failure(HookPoint point, const HookRun& run, bool retryable) {
  return {hook_action_name({}, point) + "HookFailed", run.message, retryable};
}

/// Returns true once the replacement is decided, so that the post hook may start.
bool replacement_settled_for_hook(const EvictorContext& context) {
  const auto* ready = api::find_condition(context.evacuation.status.conditions, api::ConditionType::kReplacementReady);
  return ready && (ready->status == api::ConditionStatus::kTrue || ready->reason == api::Reason::kSameNode);
}

/// Returns true if hooks of this attempt must be undone.
bool undo_hook_wanted(const EvictorContext& context) {
  return is_hook_started(context, HookPoint::kPre) || is_hook_started(context, HookPoint::kMigrate);
}

/// Returns true if the pod is gone or terminal.
bool has_left(const EvictorContext& context) { return !context.pod || context.pod->is_terminal(); }

bool hook_jobs_run(const EvictorContext& context) {
  return hook_job_runs(context, HookPoint::kPre) || hook_job_runs(context, HookPoint::kMigrate);
}

std::vector<Action> undo_hooks(const EvictorContext& context) {
  for (const HookPoint point : {HookPoint::kPre, HookPoint::kMigrate}) {
    if (auto stop = stop_hook_job(context, point)) return {*std::move(stop)};
  }
  if (hook_jobs_run(context) || !undo_hook_wanted(context)) return {};
  const PolicyHooks hooks = policy_hooks(context);
  const HookRun run = hook_run(context, hooks, HookPoint::kUndo);
  if (run.state != HookRun::State::kDue) return {};
  return {hook_action(context, hooks, HookPoint::kUndo)};
}

Rollback undone_hooks(const EvictorContext& context) {
  if (!undo_hook_wanted(context)) return Rollback::kNothingToDo;
  if (hook_jobs_run(context)) return Rollback::kPending;
  const HookRun run = hook_run(context, policy_hooks(context), HookPoint::kUndo);
  if (run.aborts()) return Rollback::kRemoteMarkRemains;
  return run.over() ? Rollback::kComplete : Rollback::kPending;
}

/// Returns the less complete of two rollbacks. A part that cannot be undone does not stop the other.
Rollback combined(Rollback a, Rollback b) {
  for (const Rollback first : {Rollback::kPending, Rollback::kRemoteMarkRemains, Rollback::kComplete}) {
    if (a == first || b == first) return first;
  }
  return Rollback::kNothingToDo;
}

}  // namespace

std::vector<Read> StatefulHandoff::reads(const EvictorContext& context) const {
  const Adapter& adapter = acting(context);
  if (api::is_terminal(context.phase()))
    return context.pod ? adapter.cleanup_reads(context) : adapter.leftover_reads(context);
  std::vector<Read> reads = hook_reads(context);
  std::ranges::move(has_left(context) ? adapter.leftover_reads(context) : adapter.reads(context),
                    std::back_inserter(reads));
  return reads;
}

/// A webhook may ask to be polled sooner than the default.
base::seconds StatefulHandoff::poll_interval(const EvictorContext& context) const {
  const base::seconds usual = DocumentReader::poll_interval(context);
  const auto next = next_hook_call(context);
  return next ? std::clamp(std::chrono::ceil<base::seconds>(*next - context.now), base::seconds(1), usual) : usual;
}

Probe StatefulHandoff::probe(const EvictorContext& context) const {
  const PolicyHooks hooks = policy_hooks(context);
  const Adapter* adapter = adapter_of(context);
  if (!adapter && hooks.state != PolicyHooks::State::kPending) {
    return unsupported(
        "", hooks.problem.empty() ? "no supported workload operator was detected for the pod" : hooks.problem);
  }
  if (hooks.state == PolicyHooks::State::kPending) {
    return unavailable(hooks.problem, context.now + base::seconds(10), true);  // no other evictor runs the hooks
  }
  const bool automatic = context.evacuation.spec.evictors.empty();
  if (automatic && adapter->name() == AnnotationEvictor::kGeneric) {
    return unsupported(adapter->name(), "evictor annotation uses the generic protocol; list it to use hooks");
  }
  if (must_be_asked(*context.pod, *adapter)) {
    return unsupported(adapter->name(),
                       fmt::format("the pod's annotation {} requests adapter generic", api::well_known::kHandoffMode));
  }
  if (auto problem = hooks_problem(context, hooks, *adapter); !problem.empty()) {
    return unsupported(adapter->name(), std::move(problem));
  }
  Probe probe = adapter->probe(context);
  if (const api::Hook* pre = hooks.at(HookPoint::kPre)) {
    probe.prepare = pre->timeout + kHookSlack;
    const bool preparing = context.phase() == EvacuationPhase::kPreparing;
    if (preparing && !hook_run(context, hooks, HookPoint::kPre).over())
      probe.acknowledges = false;  // the owner has not been asked yet
  }
  if (const api::Hook* migrate = hooks.at(HookPoint::kMigrate)) {
    const auto usual = effective_timeouts(context.evacuation.spec).total;
    probe.total = context.evacuation.spec.timeouts.total.value_or(std::max(usual, migrate->timeout + kHookSlack));
  }
  return probe;
}

EvictionStep StatefulHandoff::plan(const EvictorContext& context) const {
  const Adapter* adapter = adapter_of(context);
  if (!adapter || must_be_asked(*context.pod, *adapter)) return {NextMove::kWait, {}};
  if (context.dry_run()) {
    if (context.phase() == EvacuationPhase::kPreparing) return {NextMove::kProceed, {}};
    return act_now(post_eviction(context));
  }
  if (const auto point = hook_before_plan(context)) {
    const PolicyHooks hooks = policy_hooks(context);
    if (hooks.state == PolicyHooks::State::kUnusable) return {NextMove::kWait, {}, hooks.problem};
    const HookRun run = hook_run(context, hooks, *point);
    if (run.state == HookRun::State::kDue) return act_now(hook_action(context, hooks, *point));
    if (!run.over()) return {NextMove::kWait, {}};
  }
  return adapter->plan(context);
}

Observation StatefulHandoff::observe(const EvictorContext& context) const {
  const Adapter* adapter = adapter_of(context);
  if (!adapter || context.dry_run()) return {};
  Observation seen = adapter->observe(context);
  const auto point = hook_before_plan(context);
  if (!point) return seen;
  const PolicyHooks hooks = policy_hooks(context);
  if (!seen.failed && !hooks.at(*point)) seen.failed = idle_too_long(context, seen, *adapter);
  if (hooks.state == PolicyHooks::State::kUnusable) {
    if (!seen.failed) seen.failed = RemoteFailure{"PolicyUnusable", hooks.problem, false};
    return seen;
  }
  std::ranges::move(hook_memory_refs(context, hooks), std::back_inserter(seen.refs));
  if (!hooks.at(*point)) return seen;
  const HookRun run = hook_run(context, hooks, *point);
  std::ranges::move(hook_refs(context, hooks, *point, run), std::back_inserter(seen.refs));
  if (run.aborts() && !seen.failed) seen.failed = hook_failure(*point, run, true);
  if (*point == HookPoint::kMigrate) seen.ready = run.over();
  return seen;
}

std::vector<Action> StatefulHandoff::leftovers(const EvictorContext& context) const {
  return acting(context).leftovers(context);
}

bool StatefulHandoff::awaits_cleanup(const EvictorContext& context) const {
  const Adapter& adapter = acting(context);
  return context.pod ? adapter.awaits_cleanup(context) : adapter.awaits_leftovers(context);
}

/// Related objects that the adapter left behind are removed before the post hook starts.
Verification StatefulHandoff::verify(const EvictorContext& context) const {
  auto left = leftovers(context);
  if (left.empty() && !acting(context).awaits_leftovers(context)) return verify_hooks(context);
  Verification verification;
  verification.unfinished = true;
  if (!left.empty()) verification.action = std::move(left.front());
  return verification;
}

Verification StatefulHandoff::verify_hooks(const EvictorContext& context) {
  Verification verification;
  const PolicyHooks hooks = policy_hooks(context);
  if (hooks.state == PolicyHooks::State::kPending) {
    verification.unfinished = true;
    return verification;
  }
  const api::Hook* post = hooks.at(HookPoint::kPost);
  if (!post) return verification;
  const HookRun run = hook_run(context, hooks, HookPoint::kPost);
  verification.refs = hook_refs(context, hooks, HookPoint::kPost, run);
  if (run.aborts()) verification.failed = hook_failure(HookPoint::kPost, run, false);
  if (run.over() || run.aborts()) return verification;
  verification.unfinished = true;
  if (!is_hook_started(context, HookPoint::kPost) && !replacement_settled_for_hook(context)) return verification;
  verification.extra = post->timeout + kHookSlack;
  if (run.state == HookRun::State::kDue) verification.action = hook_action(context, hooks, HookPoint::kPost);
  return verification;
}

Classification StatefulHandoff::classify(const EvictorContext& context, const Action& action,
                                         const CallResult& answer) const {
  if (is_hook_action(action.name)) return classify_hook(context, action, answer);
  return acting(context).classify(context, action, answer);
}

bool StatefulHandoff::needs_capacity(const EvictorContext& context) const {
  return acting_on_pod(context).needs_capacity(context);
}

/// Fails closed: removing labels or annotations during a handoff does not make the handoff optional.
bool StatefulHandoff::owner_decides(const EvictorContext& context) const {
  const Adapter* adapter = context.pod ? adapter_of(context) : nullptr;
  if (adapter && adapter->protects(context)) return true;
  const api::EvacuationStatus& status = context.evacuation.status;
  const bool begun = status.evictor == kName && status.adapter != "none" && !status.adapter.empty();
  // The adapter's own rules are independent of the hooks.
  if (!begun) return (adapter && adapter->owner_decides(context)) || lacks_hooks(context, adapter);
  if (status.adapter != AnnotationEvictor::kGeneric) return true;
  const auto capability = read_capability(*context.pod);
  return !capability || capability->required;
}

std::string StatefulHandoff::advice(const EvictorContext& context) const {
  return acting_on_pod(context).advice(context);
}

base::seconds StatefulHandoff::call_timeout(const EvictorContext& context) const {
  return acting(context).call_timeout(context);
}

std::string StatefulHandoff::remains(const EvictorContext& context) const {
  return acting_on_pod(context).remains(context);
}

bool StatefulHandoff::is_in_service(const EvictorContext& context, const api::Pod& replacement) const {
  return acting(context).is_in_service(context, replacement);
}

std::vector<Action> StatefulHandoff::undo(const EvictorContext& context) const {
  const Adapter& adapter = acting(context);
  auto actions = adapter.undo(context);
  const bool adapter_busy = adapter.undone(context) == Rollback::kPending;
  return actions.empty() && !adapter_busy ? undo_hooks(context) : actions;
}

Rollback StatefulHandoff::undone(const EvictorContext& context) const {
  return combined(acting(context).undone(context), undone_hooks(context));
}

std::vector<Action> StatefulHandoff::cleanup(const EvictorContext& context) const {
  return acting(context).cleanup(context);
}

}  // namespace evictors::handoff
