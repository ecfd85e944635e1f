#include "api/vocabulary/condition_types.hpp"

namespace api {
namespace {

constexpr auto kConditionTypes = [] {
  using enum ConditionType;
  return std::to_array<Term<ConditionType>>({
      {kOriginVerified, "OriginVerified", "Evacuation",
       "The operator created this Evacuation: its signature is valid. False: a user or another component created it, "
       "and its `spec.source` is displayed but not trusted."},
      {kAccepted, "Accepted", "Evacuation", "The request is valid and its pod exists."},
      {kSlotAcquired, "SlotAcquired", "Evacuation", "The Evacuation may act: it holds a slot under the limits."},
      {kGroupReady, "GroupReady", "Evacuation",
       "The pod is ready to leave together with the other pods of its PodGroup."},
      {kHandoffAcknowledged, "HandoffAcknowledged", "Evacuation",
       "The pod's owner (its operator) confirmed that it is working on the handoff."},
      {kReadyToEvict, "ReadyToEvict", "Evacuation", "The pod's owner reports that the pod may be evicted now."},
      {kEvictionGranted, "EvictionGranted", "Evacuation", "The API server granted the eviction."},
      {kProgressing, "Progressing", "Evacuation",
       "The current attempt makes progress. False: the reason identifies what blocks it."},
      {kTargetGone, "TargetGone", "Evacuation", "The pod has left its node."},
      {kPlacementHinted, "PlacementHinted", "Evacuation",
       "A new pod was assigned to the node of `spec.placement`. The message names both."},
      {kReplacementReady, "ReplacementReady", "Evacuation", "A replacement of the pod is Ready on another node."},
      {kPostCompleted, "PostCompleted", "Evacuation",
       "The pod's owner has finished its work after the move. The owner sets it."},
      {kCancelAccepted, "CancelAccepted", "Evacuation", "Cancellation was requested and is in effect."},
      {kRollbackComplete, "RollbackComplete", "Evacuation",
       "Everything that the attempt changed on the pod and at its owner is rolled back."},
      {kComplete, "Complete", "Evacuation", "The Evacuation has ended."},
      {kReady, "Ready", "DeschedulerPolicy, ResourceAdvice",
       "The policy is valid and in effect. For a ResourceAdvice: every container has a recommendation."},
      {kConverged, "Converged", "DeschedulerPolicy",
       "The last cycle nominated no pod, and no Evacuation of the policy runs."},
      {kDegraded, "Degraded", "DeschedulerPolicy", "The last cycle had problems."},
      {kSuspended, "Suspended", "DeschedulerPolicy", "The policy starts no cycles."},
      {kCircuitOpen, "CircuitOpen", "DeschedulerPolicy", "The circuit breaker is open: the policy moves no more pods."},
      {kWarnings, "Warnings", "DeschedulerPolicy", "The last cycle ignored input that it could not use."},
      {kAuditLogFailing, "AuditLogFailing", "DeschedulerPolicy", "The operator cannot write its audit log."},
      {kUsageAvailable, "UsageAvailable", "DeschedulerPolicy",
       "Every usage source of the policy responds, and enough nodes have recent samples."},
      {kForecastTrusted, "ForecastTrusted", "DeschedulerPolicy",
       "In the back-test the forecasts were more accurate than the naive forecasts, and are used."},
      {kSoftTaints, "SoftTaints", "DeschedulerPolicy",
       "Nodes have the soft taints that the policy's strategies request."},
  });
}();
static_assert(is_complete(kConditionTypes, kLastConditionType));

}  // namespace

std::string_view to_string(ConditionType type) { return term_name(kConditionTypes, type); }
std::optional<ConditionType> parse_condition_type(std::string_view name) { return term_value(kConditionTypes, name); }
std::span<const Term<ConditionType>> condition_types() { return kConditionTypes; }

}  // namespace api
