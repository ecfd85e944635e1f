#include "api/vocabulary/condition_types.hpp"

namespace api {
namespace {

constexpr std::array kConditionTypes = {
    Term<ConditionType>{ConditionType::kOriginVerified, "OriginVerified", "Evacuation",
                        "The operator created this Evacuation: its signature is valid. False: a user or another "
                        "component created it, and its `spec.source` is displayed but not trusted.",
                        ""},
    Term<ConditionType>{ConditionType::kAccepted, "Accepted", "Evacuation", "The request is valid and its pod exists.",
                        ""},
    Term<ConditionType>{ConditionType::kSlotAcquired, "SlotAcquired", "Evacuation",
                        "The Evacuation may act: it holds a slot under the limits.", ""},
    Term<ConditionType>{ConditionType::kGroupReady, "GroupReady", "Evacuation",
                        "The pod is ready to leave together with the other pods of its PodGroup.", ""},
    Term<ConditionType>{ConditionType::kHandoffAcknowledged, "HandoffAcknowledged", "Evacuation",
                        "The pod's owner (its operator) confirmed that it is working on the handoff.", ""},
    Term<ConditionType>{ConditionType::kReadyToEvict, "ReadyToEvict", "Evacuation",
                        "The pod's owner reports that the pod may be evicted now.", ""},
    Term<ConditionType>{ConditionType::kEvictionGranted, "EvictionGranted", "Evacuation",
                        "The API server granted the eviction.", ""},
    Term<ConditionType>{ConditionType::kProgressing, "Progressing", "Evacuation",
                        "The current attempt makes progress. False: the reason identifies what blocks it.", ""},
    Term<ConditionType>{ConditionType::kTargetGone, "TargetGone", "Evacuation", "The pod has left its node.", ""},
    Term<ConditionType>{ConditionType::kPlacementHinted, "PlacementHinted", "Evacuation",
                        "A new pod was assigned to the node of `spec.placement`. The message names both.", ""},
    Term<ConditionType>{ConditionType::kReplacementReady, "ReplacementReady", "Evacuation",
                        "A replacement of the pod is Ready on another node.", ""},
    Term<ConditionType>{ConditionType::kPostCompleted, "PostCompleted", "Evacuation",
                        "The pod's owner has finished its work after the move. The owner sets it.", ""},
    Term<ConditionType>{ConditionType::kCancelAccepted, "CancelAccepted", "Evacuation",
                        "Cancellation was requested and is in effect.", ""},
    Term<ConditionType>{ConditionType::kRollbackComplete, "RollbackComplete", "Evacuation",
                        "Everything that the attempt changed on the pod and at its owner is rolled back.", ""},
    Term<ConditionType>{ConditionType::kComplete, "Complete", "Evacuation", "The Evacuation has ended.", ""},
    Term<ConditionType>{
        ConditionType::kReady, "Ready", "DeschedulerPolicy, ResourceAdvice",
        "The policy is valid and in effect. For a ResourceAdvice: every container has a recommendation.", ""},
    Term<ConditionType>{ConditionType::kConverged, "Converged", "DeschedulerPolicy",
                        "The last cycle nominated no pod, and no Evacuation of the policy runs.", ""},
    Term<ConditionType>{ConditionType::kDegraded, "Degraded", "DeschedulerPolicy", "The last cycle had problems.", ""},
    Term<ConditionType>{ConditionType::kSuspended, "Suspended", "DeschedulerPolicy", "The policy starts no cycles.",
                        ""},
    Term<ConditionType>{ConditionType::kCircuitOpen, "CircuitOpen", "DeschedulerPolicy",
                        "The circuit breaker is open: the policy moves no more pods.", ""},
    Term<ConditionType>{ConditionType::kWarnings, "Warnings", "DeschedulerPolicy",
                        "The last cycle ignored input that it could not use.", ""},
    Term<ConditionType>{ConditionType::kAuditLogFailing, "AuditLogFailing", "DeschedulerPolicy",
                        "The operator cannot write its audit log.", ""},
    Term<ConditionType>{ConditionType::kUsageAvailable, "UsageAvailable", "DeschedulerPolicy",
                        "Every usage source of the policy responds, and enough nodes have recent samples.", ""},
    Term<ConditionType>{ConditionType::kForecastTrusted, "ForecastTrusted", "DeschedulerPolicy",
                        "In the back-test the forecasts were more accurate than the naive forecasts, and are used.",
                        ""},
    Term<ConditionType>{ConditionType::kSoftTaints, "SoftTaints", "DeschedulerPolicy",
                        "Nodes have the soft taints that the policy's strategies request.", ""},
};
static_assert(is_complete(kConditionTypes, kLastConditionType));

}  // namespace

std::string_view to_string(ConditionType type) { return term_name(kConditionTypes, type); }
std::optional<ConditionType> parse_condition_type(std::string_view name) { return term_value(kConditionTypes, name); }
std::span<const Term<ConditionType>> condition_types() { return kConditionTypes; }

}  // namespace api
