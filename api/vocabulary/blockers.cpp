#include "api/vocabulary/blockers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace api {
namespace {

constexpr auto kBlockerKinds = [] {
  using enum BlockerKind;
  return std::to_array<Term<BlockerKind>>({
      {kPodDisruptionBudget, "PodDisruptionBudget", "pdb/NAME",
       "A PodDisruptionBudget allows no disruption now. The message contains its numbers. Evacuator retries with "
       "exponential backoff, and immediately when the budget allows more disruptions.",
       "`kubectl describe pdb NAME -n NAMESPACE`. Find out why pods of the workload are not Ready, or run more "
       "replicas than the budget requires."},
      {kLimit, "Limit", "limit/SCOPE",
       "A limit of the operator or of the policy is reached. The name identifies the limit (next table).",
       "Wait. If the limit stays reached, list what holds the slots: `kubectl get evac -A -o wide`. Raise the limit in "
       "the operator's configuration or in `spec.limits` of the policy."},
      {kCapacity, "Capacity", "capacity/NAME",
       "The pod temporarily needs a second pod (live migration, surge), and no node has enough free capacity for it. "
       "The message contains the numbers.",
       "Free capacity or add a node. Wait if other Evacuations currently reserve the capacity."},
      {kPodGroup, "Group", "group/NAME",
       "The pod leaves together with its PodGroup, and the PodGroup cannot start as a whole. The message names the "
       "members that block it.",
       "`kubectl get evac -n NAMESPACE`. Create or release the missing Evacuations, or raise the limit that is too "
       "small for the whole PodGroup."},
      {kSuspended, "Suspended", "suspended",
       "The Evacuation waits for approval (`spec.suspend: true`, for example from a policy in mode Manual).",
       "`kubectl evacuator approve evac/NAME -n NAMESPACE`, or cancel it."},
      {kAuditLog, "AuditLog", "auditlog/audit log",
       "The operator cannot write its audit log and is configured to admit no Evacuations until it can "
       "(`audit.onFailure: StopAdmissions`).",
       "Read the message and repair the sink (disk full, volume lost, permissions). Admissions then resume "
       "automatically."},
      {kWebhook, "Webhook", "webhook/NAME",
       "An admission webhook refused the eviction or did not respond, or a hook of the policy failed. Evacuator "
       "retries with exponential backoff.",
       "Read the message. Check that the pods and the Service of the webhook work: `kubectl get "
       "validatingwebhookconfigurations`."},
      {kService, "Service", "service/NAME",
       "The external service of the evictor `webhook` reported that it is not ready, or did not respond.",
       "Read the message and the service's log. Its address is in `services[]` of the operator's configuration."},
      {kThrottled, "Throttled", "throttled/api-server",
       "The API server is overloaded and asked the operator to slow down.",
       "Wait. If the condition persists, check the API server's load and `client.qps` of the operator."},
      {kNamespace, "Namespace", "namespace",
       "The namespace is being deleted, and the API server accepts no evictions in it.",
       "No action is needed: the pod is deleted with its namespace. If the namespace stays Terminating: `kubectl get "
       "namespace NAMESPACE -o yaml`."},
  });
}();
static_assert(is_complete(kBlockerKinds, kLastBlockerKind));

constexpr std::string_view kRaise = "Wait, or raise the limit in the operator's configuration or in the policy.";

constexpr auto kLimitScopes = [] {
  using enum LimitScope;
  return std::to_array<Term<LimitScope>>({
      {kTotal, "total", "limits.inFlight.total",
       "The maximum number of Evacuations is running in the cluster, or for the policy.", kRaise},
      {kNode, "node", "limits.inFlight.perNode", "The maximum number of pods is leaving the node.", kRaise},
      {kTargetNode, "targetNode", "limits.inFlight.perTargetNode",
       "The maximum number of pods is moving to the predicted node.", kRaise},
      {kNamespace, "namespace", "limits.inFlight.perNamespace", "The maximum number of pods is leaving the namespace.",
       kRaise},
      {kWorkload, "workload", "limits.inFlight.perWorkload",
       "The maximum number of pods of the workload (controller, or `spec.concurrencyGroup`) is leaving. A slot is held "
       "until the replacement is Ready.",
       "Wait, or find out why the replacement does not become Ready: `kubectl get evac -n NAMESPACE -o wide`."},
      {kZone, "zone", "limits.inFlight.perZone", "The maximum number of pods is leaving the zone.", kRaise},
      {kRate, "rate", "limits.rate",
       "The rate at which Evacuations start is reached. Further Evacuations start automatically.",
       "Wait, or raise the rate."},
      {kCooldown, "cooldown", "limits.cooldown",
       "The pod, its workload or its virtual machine was evacuated recently and is excluded during the cooldown. The "
       "message contains the end of the cooldown.",
       "Wait. If one workload is moved repeatedly, check the policies that nominate it: `kubectl evacuator explain "
       "pod/NAME -n NAMESPACE`."},
  });
}();
static_assert(is_complete(kLimitScopes, kLastLimitScope));

}  // namespace

std::string_view to_string(BlockerKind kind) { return term_name(kBlockerKinds, kind); }
std::optional<BlockerKind> parse_blocker_kind(std::string_view name) { return term_value(kBlockerKinds, name); }
std::span<const Term<BlockerKind>> blocker_kinds() { return kBlockerKinds; }

std::string column_text(std::string_view kind) {
  if (kind == BlockerKind::kPodDisruptionBudget) return "pdb";
  std::string text(kind);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string_view to_string(LimitScope scope) { return term_name(kLimitScopes, scope); }
std::optional<LimitScope> parse_limit_scope(std::string_view name) { return term_value(kLimitScopes, name); }
std::span<const Term<LimitScope>> limit_scopes() { return kLimitScopes; }

std::string limit_name(LimitScope scope, std::string_view policy) {
  if (policy.empty()) return std::string(to_string(scope));
  return fmt::format("policy {} {}", policy, to_string(scope));
}

std::optional<LimitScope> scope_of_limit(std::string_view limit_name) {
  const auto space = limit_name.rfind(' ');  // names of policies contain no space
  return parse_limit_scope(space == std::string_view::npos ? limit_name : limit_name.substr(space + 1));
}

}  // namespace api
