#include "api/vocabulary/blockers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace api {
namespace {

constexpr std::array kBlockerKinds = {
    Term<BlockerKind>{
        BlockerKind::kPodDisruptionBudget, "PodDisruptionBudget", "pdb/NAME",
        "A PodDisruptionBudget allows no disruption now. The message has its numbers. Evacuator asks again "
        "with a growing delay, and at once when the budget allows more.",
        "`kubectl describe pdb NAME -n NAMESPACE`. Find out why pods of the workload are not Ready, or "
        "give the workload more replicas than the budget demands."},
    Term<BlockerKind>{
        BlockerKind::kLimit, "Limit", "limit/SCOPE",
        "A limit of the operator or of the policy is full. The name says which one (next table).",
        "Wait. If it is full for long, see what holds the slots: `kubectl get evac -A -o wide`. Raise the "
        "limit in the operator's configuration or in `spec.limits` of the policy."},
    Term<BlockerKind>{
        BlockerKind::kCapacity, "Capacity", "capacity/NAME",
        "The pod needs a second pod beside it for a while (live migration, surge), and no node has enough "
        "free capacity for that one. The message has the numbers.",
        "Free capacity or add a node. Wait if other Evacuations hold the capacity at the moment."},
    Term<BlockerKind>{
        BlockerKind::kPodGroup, "Group", "group/NAME",
        "The pod leaves together with its PodGroup, and the PodGroup cannot begin as a whole. The message "
        "names the members that hold it up.",
        "`kubectl get evac -n NAMESPACE`. Create or release the missing Evacuations, or raise the limit "
        "that is too small for the whole PodGroup."},
    Term<BlockerKind>{BlockerKind::kSuspended, "Suspended", "suspended",
                      "The Evacuation waits for a person (`spec.suspend: true`, such as from a policy in mode Manual).",
                      "`kubectl evacuator approve evac/NAME -n NAMESPACE`, or cancel it."},
    Term<BlockerKind>{BlockerKind::kAuditLog, "AuditLog", "auditlog/audit log",
                      "The operator cannot write its audit log and is configured to start nothing meanwhile "
                      "(`audit.onFailure: StopAdmissions`).",
                      "Read the message and repair the sink (disk full, volume lost, permissions). Everything goes on "
                      "by itself."},
    Term<BlockerKind>{
        BlockerKind::kWebhook, "Webhook", "webhook/NAME",
        "An admission webhook refused the eviction or did not answer, or a hook of the policy failed. "
        "Evacuator asks again with a growing delay.",
        "Read the message. Check that the webhook's pods run: `kubectl get validatingwebhookconfigurations` "
        "and its service."},
    Term<BlockerKind>{BlockerKind::kService, "Service", "service/NAME",
                      "The external service of the evictor `webhook` said \"not now\" or did not answer.",
                      "Read the message and the service's log. Its address is in `services[]` of the operator's "
                      "configuration."},
    Term<BlockerKind>{BlockerKind::kThrottled, "Throttled", "throttled/api-server",
                      "The API server is busy and asked the operator to slow down.",
                      "Wait. If it stays, look at the API server's load and at `client.qps` of the operator."},
    Term<BlockerKind>{BlockerKind::kNamespace, "Namespace", "namespace",
                      "The namespace is being deleted, and the API server accepts no evictions in it.",
                      "Nothing to do: the pod goes with its namespace. If the namespace hangs: `kubectl get namespace "
                      "NAMESPACE -o yaml`."},
};
static_assert(is_complete(kBlockerKinds, kLastBlockerKind));

constexpr std::string_view kRaise = "Wait, or raise the limit in the operator's configuration or in the policy.";

constexpr std::array kLimitScopes = {
    Term<LimitScope>{LimitScope::kTotal, "total", "limits.inFlight.total",
                     "As many Evacuations run as the cluster, or the policy, may have.", kRaise},
    Term<LimitScope>{LimitScope::kNode, "node", "limits.inFlight.perNode",
                     "As many pods leave the same node as may leave it at a time.", kRaise},
    Term<LimitScope>{LimitScope::kTargetNode, "targetNode", "limits.inFlight.perTargetNode",
                     "As many pods are on their way to the predicted node as may go there at a time.", kRaise},
    Term<LimitScope>{LimitScope::kNamespace, "namespace", "limits.inFlight.perNamespace",
                     "As many pods of the namespace leave as may leave at a time.", kRaise},
    Term<LimitScope>{
        LimitScope::kWorkload, "workload", "limits.inFlight.perWorkload",
        "As many pods of the same workload (controller, or `spec.concurrencyGroup`) leave as may leave at a "
        "time. The slot is held until the replacement is Ready.",
        "Wait, or find out why the replacement does not become Ready: `kubectl get evac -n NAMESPACE -o "
        "wide`."},
    Term<LimitScope>{LimitScope::kZone, "zone", "limits.inFlight.perZone",
                     "As many pods leave the zone as may leave it at a time.", kRaise},
    Term<LimitScope>{LimitScope::kRate, "rate", "limits.rate",
                     "Evacuations begin no faster than this rate. The next ones follow by themselves.",
                     "Wait, or raise the rate."},
    Term<LimitScope>{
        LimitScope::kCooldown, "cooldown", "limits.cooldown",
        "The pod, its workload or its virtual machine was evacuated lately and is excluded for a while. The "
        "message says until when.",
        "Wait. If one workload is moved again and again, look at the policies that nominate it: `kubectl "
        "evacuator explain pod/NAME -n NAMESPACE`."},
};
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
