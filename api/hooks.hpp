#pragma once

/// spec.evacuation.hooks of a policy: run by the evictor stateful-handoff around a move, for workloads without an
/// operator of their own. Evacuations have no hooks, because users who may only request evacuations must not be able to
/// make the operator run pods (ADR 0008).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"

namespace api {

class StrictObject;

enum class HookFailurePolicy { kAbort, kIgnore };
std::string_view to_string(HookFailurePolicy policy);

/// One hook: either a service in the operator's configuration or a Job in the pod's namespace.
struct Hook {
  std::string service;            ///< webhook.service; empty for a Job
  std::string job_template_json;  ///< job.template: a PodTemplateSpec as compact JSON; empty for a webhook
  base::seconds job_ttl{3600};    ///< job.ttlSecondsAfterFinished
  base::seconds timeout{300};     ///< total, from the first call or the start of the Job, retries included
  std::int32_t retries = 2;       ///< retries after the first failure
  HookFailurePolicy on_failure = HookFailurePolicy::kAbort;

  bool is_job() const { return service.empty(); }
  friend bool operator==(const Hook&, const Hook&) = default;
};

struct EvacuationHooks {
  std::optional<Hook> pre;      ///< before any request to the workload
  std::optional<Hook> migrate;  ///< after pre, before the eviction; a Job, for pods without an adapter
  std::optional<Hook> post;     ///< once the replacement is Ready
  std::optional<Hook> undo;     ///< when an attempt is aborted after pre or migrate has started

  bool empty() const { return !pre && !migrate && !post && !undo; }
  friend bool operator==(const EvacuationHooks&, const EvacuationHooks&) = default;
};

/// Codec of a hook, as api/json/fields.hpp calls it.
void read_member(StrictObject& object, std::string_view name, std::optional<Hook>& to);
Json encode_value(const Hook& hook);
/// Checks bounds, and that a Job's template contains nothing forbidden.
void check_hooks(const EvacuationHooks& hooks, const FieldPath& at, FieldErrors& errors);

namespace bounds {
inline constexpr std::int64_t kMaxHookSeconds = 86400;
inline constexpr std::int64_t kMaxHookRetries = 20;
inline constexpr std::size_t kMaxHookTemplateBytes = 65536;
}  // namespace bounds

}  // namespace api
