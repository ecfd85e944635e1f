#include "evictors/handoff/hooks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/descheduler_policy.hpp"
#include "api/json/json_access.hpp"
#include "api/meta/service_uses.hpp"
#include "api/origin.hpp"
#include "api/vocabulary/blockers.hpp"
#include "base/text.hpp"
#include "evictors/classify.hpp"
#include "evictors/document.hpp"
#include "evictors/handoff/hook_job.hpp"
#include "evictors/handoff/hook_memory.hpp"
#include "evictors/handoff/stateful_handoff.hpp"
#include "kube/classify.hpp"
#include "kube/request.hpp"

namespace evictors::handoff {
namespace {

using api::Json;

constexpr std::array kHookPoints = {HookPoint::kPre, HookPoint::kMigrate, HookPoint::kPost, HookPoint::kUndo};
constexpr std::string_view kPolicyDocument = "policy";
constexpr std::string_view kHookRunning = "Running";
constexpr std::string_view kHookSucceeded = "Succeeded";
constexpr std::string_view kHookFailed = "Failed";
constexpr std::string_view kCallPrefix = "CallHook";
constexpr std::string_view kCreatePrefix = "CreateHookJob";
constexpr std::size_t kMaxHookMessage = 400;
constexpr std::size_t kMaxHookAnswer = 64 * 1024;
constexpr base::seconds kPollInterval{5};
constexpr base::seconds kAskAgainAtMost{60};
/// The Job controller enforces the deadline. A Job that still runs this long afterwards counts as failed.
constexpr base::seconds kJobSlack{60};

HookMember member_of(HookPoint point) { return kHookMembers[static_cast<std::size_t>(point)].second; }

std::string ref_key(HookPoint point, std::string_view what = {}) {
  return fmt::format("{}Hook{}", to_string(point), what);
}

std::string_view hook_ref(const EvictorContext& context, HookPoint point, std::string_view what = {}) {
  return context.ref(ref_key(point, what));
}

std::string hook_text(std::string_view text) { return base::truncate_utf8(text, kMaxHookMessage); }

/// Hooks apply to Evacuations of a policy that names this evictor, because the automatic choice reads no policy. A
/// manual Evacuation that names a policy does not get its hooks.
bool hooks_apply(const EvictorContext& context) {
  const api::EvacuationSpec& spec = context.evacuation.spec;
  const auto named = [](const api::EvictorChoice& each) { return each.name == StatefulHandoff::kName; };
  return !api::policy_of(context.evacuation).empty() && !spec.dry_run &&
         std::any_of(spec.evictors.begin(), spec.evictors.end(), named);
}

HookRun failed_run(const api::Hook& hook, std::string message) {
  return {HookRun::State::kFailed, std::move(message), hook.on_failure == api::HookFailurePolicy::kIgnore};
}

bool hook_timed_out(const EvictorContext& context, HookPoint point, const api::Hook& hook, base::seconds slack) {
  const auto since = base::parse_time(hook_ref(context, point, "Since"));
  return since && context.now >= *since + hook.timeout + slack;
}

/// Evaluates an absent Job: not created yet, impossible to create, or deleted.
HookRun absent_job_run(const EvictorContext& context, const api::Hook& hook, HookPoint point) {
  if (hook_ref(context, point) == kHookRunning)
    return failed_run(hook, fmt::format("Job {} was deleted before it completed", hook_job_name(context, point)));
  if (!hook.job_template_json.empty()) return {HookRun::State::kDue, {}, false};
  return failed_run(
      hook, fmt::format("its Job cannot be created: policy {} is gone, cannot be read, or no longer has the hook",
                        context.evacuation.spec.source.policy));
}

HookRun job_run(const EvictorContext& context, const api::Hook& hook, HookPoint point) {
  const HookJob job = read_hook_job(context, point, &hook);
  switch (job.state) {
    case HookJob::State::kUnknown: break;
    case HookJob::State::kAbsent: return absent_job_run(context, hook, point);
    case HookJob::State::kForeign:
      return failed_run(hook, fmt::format("a Job {} already exists and was not created by the operator: {}",
                                          hook_job_name(context, point), job.message));
    case HookJob::State::kSucceeded: return {HookRun::State::kSucceeded, {}, false};
    case HookJob::State::kFailed: return failed_run(hook, job.message);
    case HookJob::State::kRunning: break;
  }
  // If the failure is ignored, the pod would leave beside a running Job: the Job's own deadline ends it, or the
  // attempt's.
  const bool leaves_beside_job =
      hook.on_failure == api::HookFailurePolicy::kIgnore && (point == HookPoint::kPre || point == HookPoint::kMigrate);
  if (!leaves_beside_job && hook_timed_out(context, point, hook, kJobSlack))
    return failed_run(hook, "its Job did not complete in time");
  return {HookRun::State::kWaiting,
          fmt::format("hook {}: Job {} is running", to_string(point), hook_job_name(context, point)), false};
}

HookRun webhook_run(const EvictorContext& context, const api::Hook& hook, HookPoint point) {
  if (hook_timed_out(context, point, hook, base::seconds(0))) {
    return failed_run(hook, fmt::format("not complete within {}", base::format_duration(hook.timeout)));
  }
  const auto next = base::parse_time(hook_ref(context, point, "Next"));
  if (next && *next > context.now) {
    return {HookRun::State::kWaiting,
            fmt::format("hook {}: service {} is working on the request", to_string(point), hook.service), false};
  }
  return {HookRun::State::kDue, {}, false};
}

/// Roles of the calls, in the order of HookPoint.
constexpr std::array kHookRoles = {ActionRole::kPrepare, ActionRole::kRequest, ActionRole::kCleanUp, ActionRole::kUndo};
ActionRole hook_role(HookPoint point) { return kHookRoles.at(static_cast<std::size_t>(point)); }

Json pod_facts(const EvictorContext& context) {
  const api::Evacuation& of = context.evacuation;
  return {{"name", of.spec.pod_ref.name},
          {"namespace", of.meta.ns},
          {"uid", of.spec.pod_ref.uid.value},
          {"node", of.spec.node_name.value}};
}

Json webhook_body(const EvictorContext& context, HookPoint point) {
  const api::Evacuation& of = context.evacuation;
  Json body = {{"apiVersion", "evacuator.dev/hook/v1"},
               {"hook", to_string(point)},
               {"token", of.status.token},
               {"evacuation", {{"name", of.meta.name}, {"namespace", of.meta.ns}, {"uid", of.meta.uid}}},
               {"pod", pod_facts(context)},
               {"policy", of.spec.source.policy},
               {"reason", of.spec.reason}};
  const auto& outcome = of.status.outcome;
  if (outcome && outcome->replacement) {
    body["replacement"] = {{"name", outcome->replacement->name}, {"node", outcome->replacement->node.value}};
  }
  return body;
}

Action call_webhook(const EvictorContext& context, const api::Hook& hook, HookPoint point) {
  Action action = make_action(
      hook_role(point), hook_action_name(kCallPrefix, point),
      kube::json_request("POST", fmt::format("/v1/hooks/{}", to_string(point)), webhook_body(context, point)));
  action.service = hook.service;
  action.service_use = api::kServiceAsHook;
  return action;
}

std::optional<HookPoint> hook_point_of(const Action& action) {
  for (const HookPoint point : kHookPoints) {
    if (action.name.ends_with(hook_action_name({}, point))) return point;
  }
  return std::nullopt;
}

// --- answers

void set_failed(Classification& meaning, HookPoint point, const std::string& why) {
  meaning.refs.emplace_back(ref_key(point), hook_text(fmt::format("{}: {}", kHookFailed, why)));
}

void set_running(const EvictorContext& context, Classification& meaning, HookPoint point) {
  meaning.refs.emplace_back(ref_key(point), kHookRunning);
  if (hook_ref(context, point, "Since").empty()) {
    meaning.refs.emplace_back(ref_key(point, "Since"), base::format_time(context.now));
  }
}

/// Records a failed try that may be repeated.
Classification failed_try(const EvictorContext& context, const api::Hook& hook, HookPoint point,
                          const std::string& why) {
  Classification meaning{ResponseClass::kWebhookDown, hook_text(why), std::nullopt, {}};
  meaning.blocker = api::make_blocker(api::BlockerKind::kWebhook, hook.service, meaning.message);
  const int before = base::parse_number<int>(hook_ref(context, point, "Tries")).value_or(0);
  const int tries = std::clamp(before, 0, 1000) + 1;
  set_running(context, meaning, point);
  meaning.refs.emplace_back(ref_key(point, "Tries"), std::to_string(tries));
  if (tries <= hook.retries) return meaning;
  set_failed(meaning, point, fmt::format("after {} tries: {}", tries, meaning.message));
  return meaning;
}

/// Records an explicit refusal, which a retry would not change.
Classification final_refusal(HookPoint point, const std::string& why) {
  Classification meaning{ResponseClass::kRetryLater, hook_text(why), std::nullopt, {}};
  set_failed(meaning, point, meaning.message);
  return meaning;
}

/// Parses {"done": bool, "retryAfterSeconds": n, "failed": "why"}.
Classification classify_hook_body(const EvictorContext& context, const api::Hook& hook, HookPoint point,
                                  const std::string& text) {
  const auto body = text.size() <= kMaxHookAnswer ? api::parse_json(text) : base::invalid("too large");
  if (const std::string why = body ? api::text_at(*body, {"failed"}) : ""; !why.empty()) {
    return final_refusal(point, why);
  }
  const Json* done = body ? api::find_at(*body, {"done"}) : nullptr;
  if (!done || !done->is_boolean())
    return failed_try(context, hook, point, "the response has no member \"done\": " + text.substr(0, 100));
  Classification meaning{ResponseClass::kApplied, {}, std::nullopt, {}};
  if (done->get<bool>()) {
    meaning.refs.emplace_back(ref_key(point), kHookSucceeded);
    return meaning;
  }
  set_running(context, meaning, point);
  base::seconds pause = kPollInterval;
  if (const auto wanted = api::number_at(*body, {"retryAfterSeconds"})) {
    pause = base::seconds(std::clamp<std::int64_t>(*wanted, 1, kAskAgainAtMost.count()));
  }
  meaning.refs.emplace_back(ref_key(point, "Next"), base::format_time(context.now + pause));
  return meaning;
}

Classification classify_webhook(const EvictorContext& context, const api::Hook& hook, HookPoint point,
                                const CallResult& answer) {
  if (!answer && answer.error().code == base::ErrorCode::kInvalid) return final_refusal(point, answer.error().message);
  if (!answer) return failed_try(context, hook, point, answer.error().message);
  const int code = answer->status;
  if (code >= 200 && code < 300) return classify_hook_body(context, hook, point, answer->body);
  const std::string why =
      fmt::format("{}: {}{}", code, answer->body.substr(0, 200), service_setting(hook.service, code));
  const bool may_pass =
      code < 400 || code >= 500 || code == 408 || code == 425 || code == 429 || kube::begins_like_html(answer->body);
  return may_pass ? failed_try(context, hook, point, why) : final_refusal(point, why);
}

Classification classify_job(const EvictorContext& context, const api::Hook& hook, HookPoint point,
                            const CallResult& answer) {
  Classification meaning = classify_patch(answer);
  const bool exists = answer && answer->status == 409 && answer->body.find("AlreadyExists") != std::string::npos;
  if (exists) meaning.answer = ResponseClass::kApplied;  // the next read shows whether the Job is Evacuator's
  if (meaning.answer == ResponseClass::kApplied) {
    set_running(context, meaning, point);
    meaning.refs.emplace_back(ref_key(point, "Logs"), hook_job_logs(context, point));
    const auto made = exists || !answer ? base::Result<Json>(Json()) : api::parse_json(answer->body);
    if (made) meaning.refs.emplace_back(hook_job_uid_ref(point), api::text_at(*made, {"metadata", "uid"}));
  }
  const bool refused = meaning.answer == ResponseClass::kForbidden || meaning.answer == ResponseClass::kPermanent ||
                       meaning.answer == ResponseClass::kGoneMaybe;
  if (!refused) return meaning;
  set_failed(meaning, point, fmt::format("the Job could not be created: {}", meaning.message));
  const bool goes_on = hook.on_failure == api::HookFailurePolicy::kIgnore;
  if (goes_on || meaning.answer == ResponseClass::kGoneMaybe) meaning.answer = ResponseClass::kRetryLater;
  return meaning;
}

}  // namespace

std::string_view to_string(HookPoint point) { return kHookMembers[static_cast<std::size_t>(point)].first; }

const api::Hook* PolicyHooks::at(HookPoint point) const {
  const auto& hook = hooks.*member_of(point);
  return hook ? &*hook : nullptr;
}

namespace {

/// Uses the hooks recalled from status.refs, because the policy is gone or invalid.
PolicyHooks hooks_without_policy(const EvictorContext& context, std::string problem) {
  auto known = parse_hooks_summary(context.ref(kHooksRef));
  if (known && known->empty()) return {PolicyHooks::State::kKnown, {}, false, {}};
  const bool remembered = known.has_value();
  return {PolicyHooks::State::kUnusable, std::move(known).value_or(api::EvacuationHooks{}), remembered,
          std::move(problem)};
}

/// Keeps a started hook as it was, even if the policy no longer has it or has another kind of hook in its place,
/// because its Job still runs.
void keep_begun_hooks(const EvictorContext& context, api::EvacuationHooks& hooks) {
  const auto known = parse_hooks_summary(context.ref(kHooksRef));
  if (!known) return;
  for (const HookPoint point : kHookPoints) {
    const auto& begun = (*known).*member_of(point);
    auto& today = hooks.*member_of(point);
    if (begun && is_hook_started(context, point) && (!today || today->is_job() != begun->is_job())) today = begun;
  }
}

/// Returns true if the hook may have a Job: the policy has or had a Job hook, or the attempt created a Job.
bool may_have_job(const EvictorContext& context, const PolicyHooks& hooks, HookPoint point) {
  const api::Hook* hook = hooks.at(point);
  return (hook && hook->is_job()) || !hook_ref(context, point, "Logs").empty();
}

}  // namespace

PolicyHooks policy_hooks(const EvictorContext& context) {
  if (!hooks_apply(context)) return {};
  const std::string& name = context.evacuation.spec.source.policy;
  const Document* document = context.document(kPolicyDocument);
  if (!document) return {PolicyHooks::State::kPending, {}, false, fmt::format("policy {} has not been read yet", name)};
  if (document->status == 404)
    return hooks_without_policy(context, fmt::format("policy {}, whose hooks apply, does not exist", name));
  if (!document->ok()) {
    return {PolicyHooks::State::kPending, {}, false, fmt::format("reading policy {}: {}", name, problem_of(*document))};
  }
  auto policy = api::decode_descheduler_policy(document->body);
  if (!policy) {
    return hooks_without_policy(context,
                                hook_text(fmt::format("policy {} cannot be read: {}", name, policy.error().message)));
  }
  keep_begun_hooks(context, policy->spec.evacuation.hooks);
  return {PolicyHooks::State::kKnown, std::move(policy->spec.evacuation.hooks), false, {}};
}

std::vector<Read> hook_reads(const EvictorContext& context) {
  if (!hooks_apply(context)) return {};
  std::vector<Read> reads = {
      read_of(kPolicyDocument, kube::get_request(kube::kPolicies, {"", context.evacuation.spec.source.policy}))};
  const PolicyHooks known = policy_hooks(context);
  const EvacuationPhase phase = context.phase();
  const auto matters = [&](HookPoint point) {
    if (phase == EvacuationPhase::kAborting) return point != HookPoint::kPost;
    if (phase == EvacuationPhase::kVerifying) return point == HookPoint::kPost;
    if (phase == EvacuationPhase::kPreparing) return point == HookPoint::kPre;
    return point == HookPoint::kMigrate &&
           (phase == EvacuationPhase::kRequesting || phase == EvacuationPhase::kInProgress);
  };
  for (const HookPoint point : kHookPoints) {
    if (matters(point) && may_have_job(context, known, point)) reads.push_back(hook_job_read(context, point));
  }
  return reads;
}

HookRun hook_run(const EvictorContext& context, const PolicyHooks& hooks, HookPoint point) {
  if (hooks.state == PolicyHooks::State::kPending) return {HookRun::State::kWaiting, hooks.problem, false};
  const api::Hook* hook = hooks.at(point);
  const bool unknown = hooks.state == PolicyHooks::State::kUnusable && !hooks.remembered;
  if (!hook && unknown) return {HookRun::State::kFailed, hooks.problem, false};  // the policy may have had a hook
  if (!hook) return {};
  const std::string_view known = hook_ref(context, point);
  if (known == kHookSucceeded) return {HookRun::State::kSucceeded, {}, false};
  if (known.starts_with(kHookFailed))
    return failed_run(*hook, std::string(known.substr(std::min(known.size(), kHookFailed.size() + 2))));
  return hook->is_job() ? job_run(context, *hook, point) : webhook_run(context, *hook, point);
}

std::optional<base::TimePoint> next_hook_call(const EvictorContext& context) {
  std::optional<base::TimePoint> soonest;
  for (const HookPoint point : kHookPoints) {
    const auto next = base::parse_time(hook_ref(context, point, "Next"));
    if (hook_ref(context, point) != kHookRunning || !next || *next <= context.now) continue;
    soonest = std::min(soonest.value_or(*next), *next);
  }
  return soonest;
}

bool is_hook_started(const EvictorContext& context, HookPoint point) {
  if (!hook_ref(context, point).empty()) return true;
  return context.intent(hook_action_name(kCallPrefix, point)) || context.intent(hook_action_name(kCreatePrefix, point));
}

Refs hook_memory_refs(const EvictorContext& context, const PolicyHooks& hooks) {
  if (hooks.state != PolicyHooks::State::kKnown) return {};
  std::string text = remembered_hooks(hooks.hooks);
  if (text == context.ref(kHooksRef)) return {};
  return {{std::string(kHooksRef), std::move(text)}};
}

Refs hook_refs(const EvictorContext& context, const PolicyHooks& hooks, HookPoint point, const HookRun& run) {
  const api::Hook* hook = hooks.at(point);
  if (!hook) return {};
  std::string state;
  if (run.state == HookRun::State::kSucceeded) state = kHookSucceeded;
  if (run.failed()) state = hook_text(fmt::format("{}: {}", kHookFailed, run.message));
  Refs refs;
  if (!state.empty() && state != hook_ref(context, point)) refs.emplace_back(ref_key(point), state);
  const HookJob job = read_hook_job(context, point, hook);
  const bool exists = job.state == HookJob::State::kRunning || job.state == HookJob::State::kSucceeded ||
                      job.state == HookJob::State::kFailed;
  if (exists && context.ref(hook_job_uid_ref(point)).empty()) refs.emplace_back(hook_job_uid_ref(point), job.uid);
  const bool seen = hook->is_job() && (exists || hook_ref(context, point) == kHookRunning);
  if (!seen || !hook_ref(context, point, "Logs").empty()) return refs;
  // The answer to the creation was lost.
  refs.emplace_back(ref_key(point, "Logs"), hook_job_logs(context, point));
  if (state.empty()) {
    refs.emplace_back(ref_key(point), kHookRunning);
    refs.emplace_back(ref_key(point, "Since"), base::format_time(context.now));
  }
  return refs;
}

Action hook_action(const EvictorContext& context, const PolicyHooks& hooks, HookPoint point) {
  const api::Hook& hook = *hooks.at(point);
  if (!hook.is_job()) return call_webhook(context, hook, point);
  return make_action(hook_role(point), hook_action_name(kCreatePrefix, point),
                     kube::create_request(kube::kJobs, context.ns(), hook_job(context, hook, point)));
}

bool is_hook_action(std::string_view action) {
  return action.starts_with(kCallPrefix) || action.starts_with(kCreatePrefix) || action.starts_with(kStopJobPrefix);
}

Classification classify_hook(const EvictorContext& context, const Action& action, const CallResult& answer) {
  const auto point = hook_point_of(action);
  const PolicyHooks hooks = policy_hooks(context);
  const api::Hook* hook = point ? hooks.at(*point) : nullptr;
  if (!hook || action.name.starts_with(kStopJobPrefix)) return classify_patch(answer);
  return hook->is_job() ? classify_job(context, *hook, *point, answer)
                        : classify_webhook(context, *hook, *point, answer);
}

}  // namespace evictors::handoff
