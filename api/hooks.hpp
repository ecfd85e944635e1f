#pragma once

/// spec.evacuation.hooks of a policy: what the evictor stateful-handoff runs around a move for workloads without an
/// operator of their own. Never part of an Evacuation: who may only ask for evacuations must not be able to make the
/// operator run pods (ADR 0008).

#include <cstdint>
#include <optional>
#include <string>

#include "api/json/field_path.hpp"
#include "api/json/json.hpp"
#include "base/clock.hpp"

namespace api {

class StrictObject;

enum class HookFailurePolicy { kAbort, kIgnore };
std::string_view to_string(HookFailurePolicy policy);

/// One hook: a service of the operator's configuration, or a Job in the pod's namespace; exactly one of them.
struct Hook {
  std::string service;            ///< webhook.service; empty: a Job
  std::string job_template_json;  ///< job.template: a PodTemplateSpec as compact JSON; empty: a webhook
  base::seconds job_ttl{3600};    ///< job.ttlSecondsAfterFinished
  base::seconds timeout{300};     ///< from the first call or the Job's start to its end, all tries included
  std::int32_t retries = 2;       ///< tries after the first failed one
  HookFailurePolicy on_failure = HookFailurePolicy::kAbort;

  bool is_job() const { return service.empty(); }
  friend bool operator==(const Hook&, const Hook&) = default;
};

struct EvacuationHooks {
  std::optional<Hook> pre;      ///< before anything is asked of anybody
  std::optional<Hook> migrate;  ///< after pre, before the eviction; a Job, for pods that no adapter looks after
  std::optional<Hook> post;     ///< once the replacement is Ready
  std::optional<Hook> undo;     ///< when an attempt is taken back after pre or migrate has begun

  bool empty() const { return !pre && !migrate && !post && !undo; }
  friend bool operator==(const EvacuationHooks&, const EvacuationHooks&) = default;
};

void read_hooks(StrictObject& hooks, EvacuationHooks& to);
Json encode_hooks(const EvacuationHooks& hooks);
/// Bounds, and what must not be in a Job's template.
void check_hooks(const EvacuationHooks& hooks, const FieldPath& at, FieldErrors& errors);

namespace bounds {
inline constexpr std::int64_t kMaxHookSeconds = 86400;
inline constexpr std::int64_t kMaxHookRetries = 20;
inline constexpr std::size_t kMaxHookTemplateBytes = 65536;
}  // namespace bounds

}  // namespace api
