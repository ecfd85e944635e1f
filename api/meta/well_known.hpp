#pragma once

#include <string_view>

/// Names in Evacuator's and other components' interfaces.
namespace api::well_known {

// --- Evacuator
inline constexpr std::string_view kGroup = "evacuator.dev";
inline constexpr std::string_view kApiVersion = "evacuator.dev/v1alpha1";
inline constexpr std::string_view kEvacuationFinalizer = "evacuator.dev/evacuation";
inline constexpr std::string_view kPolicyLabel = "evacuator.dev/policy";
inline constexpr std::string_view kNodeLabel = "evacuator.dev/node";
inline constexpr std::string_view kPredictedTargetAnnotation = "evacuator.dev/predicted-target";
/// On a DeschedulerPolicy: a new value closes its circuit breaker.
inline constexpr std::string_view kResetCircuitAnnotation = "evacuator.dev/reset-circuit";
/// On an Evacuation: signature of the operator that created it (docs/design/wire-protocols.md#origin).
inline constexpr std::string_view kOriginAnnotation = "evacuator.dev/origin";
/// On an Evacuation: its creator, as seen by the admission webhook and signed by the operator.
inline constexpr std::string_view kCreatorAnnotation = "evacuator.dev/creator";
inline constexpr std::string_view kTokenAnnotation = "evacuator.dev/evacuation-token";
/// On a pod: "<name>/<uid>/<policy>/<node>", the Evacuation whose placement hint it received, and the hint.
inline constexpr std::string_view kPlacementAnnotation = "evacuator.dev/placement";
/// Label on a pod: "Ignore" excludes it from the placement webhook.
inline constexpr std::string_view kPlacementLabel = "evacuator.dev/placement";
inline constexpr std::string_view kEvacuationUidLabel = "evacuator.dev/evacuation-uid";
inline constexpr std::string_view kFieldManager = "evacuator";

// --- soft taints of policies on nodes; the value is soft_taint_value() of the policy's name
/// On nodes that Defragmentation empties, until they are empty or it gives up.
inline constexpr std::string_view kEmptyingTaint = "evacuator.dev/emptying";
/// On nodes whose measured load exceeds the level that a policy targets.
inline constexpr std::string_view kLoadedTaint = "evacuator.dev/loaded";
inline constexpr std::string_view kSoftTaints[] = {kEmptyingTaint, kLoadedTaint};
inline constexpr bool is_soft_taint(std::string_view key) { return key == kEmptyingTaint || key == kLoadedTaint; }

// --- PodGroups, on pods (docs/concepts/pod-groups.md)
inline constexpr std::string_view kPodGroupKey = "evacuator.dev/group";  ///< annotation or label
inline constexpr std::string_view kPodGroupOrder = "evacuator.dev/group-order";
inline constexpr std::string_view kLwsName = "leaderworkerset.sigs.k8s.io/name";
inline constexpr std::string_view kLwsGroupIndex = "leaderworkerset.sigs.k8s.io/group-index";
inline constexpr std::string_view kLwsWorkerIndex = "leaderworkerset.sigs.k8s.io/worker-index";
inline constexpr std::string_view kCompletionIndex = "batch.kubernetes.io/job-completion-index";

// --- Evacuator in the EvictionRequest API (KEP-4563)
inline constexpr std::string_view kNativeRequester = "evacuator.dev/evacuation-controller";
inline constexpr std::string_view kNativeResponder = "evacuator.dev/responder";
/// On Evacuations that respond to an Eviction of the EvictionRequest API: its name and UID.
inline constexpr std::string_view kNativeEvictionAnnotation = "evacuator.dev/native-eviction";
inline constexpr std::string_view kNativeEvictionUidAnnotation = "evacuator.dev/native-eviction-uid";

// --- two-way handoff protocol, on pods (wire-protocols.md#handoff-protocol)
inline constexpr std::string_view kHandoffPrefix = "handoff.evacuator.dev/";
inline constexpr std::string_view kHandoffMode = "handoff.evacuator.dev/mode";
inline constexpr std::string_view kHandoffPhases = "handoff.evacuator.dev/phases";
inline constexpr std::string_view kHandoffEvictBy = "handoff.evacuator.dev/evict-by";
inline constexpr std::string_view kHandoffTimeout = "handoff.evacuator.dev/timeout";
inline constexpr std::string_view kHandoffStrict = "handoff.evacuator.dev/strict";
inline constexpr std::string_view kHandoffSurgePod = "handoff.evacuator.dev/second-copy";
inline constexpr std::string_view kHandoffRequest = "handoff.evacuator.dev/request";
inline constexpr std::string_view kHandoffRequestPhase = "handoff.evacuator.dev/request-phase";
inline constexpr std::string_view kHandoffRequestDeadline = "handoff.evacuator.dev/request-deadline";
inline constexpr std::string_view kHandoffRequestReason = "handoff.evacuator.dev/request-reason";
inline constexpr std::string_view kHandoffAbort = "handoff.evacuator.dev/abort";
inline constexpr std::string_view kHandoffAck = "handoff.evacuator.dev/ack";
inline constexpr std::string_view kHandoffHeartbeat = "handoff.evacuator.dev/heartbeat";
inline constexpr std::string_view kHandoffProgress = "handoff.evacuator.dev/progress";
inline constexpr std::string_view kHandoffExpectedCompletion = "handoff.evacuator.dev/expected-completion";
inline constexpr std::string_view kHandoffPreDone = "handoff.evacuator.dev/pre-done";
inline constexpr std::string_view kHandoffReadyToEvict = "handoff.evacuator.dev/ready-to-evict";
inline constexpr std::string_view kHandoffFailed = "handoff.evacuator.dev/failed";
inline constexpr std::string_view kHandoffAborted = "handoff.evacuator.dev/aborted";

// --- upstream descheduler
inline constexpr std::string_view kRequestEvictOnly = "descheduler.alpha.kubernetes.io/request-evict-only";
inline constexpr std::string_view kEvictionInProgress = "descheduler.alpha.kubernetes.io/eviction-in-progress";
inline constexpr std::string_view kPreferNoEviction = "descheduler.alpha.kubernetes.io/prefer-no-eviction";
inline constexpr std::string_view kEvictAnnotation = "descheduler.alpha.kubernetes.io/evict";
inline constexpr std::string_view kRequestedByDescheduler = "sigs.k8s.io/descheduler";

// --- Kubernetes
inline constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";
inline constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
inline constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";
inline constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";
inline constexpr std::string_view kLegacyZoneLabel = "failure-domain.beta.kubernetes.io/zone";
inline constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";
inline constexpr std::string_view kCpu = "cpu";
inline constexpr std::string_view kMemory = "memory";
inline constexpr std::string_view kPods = "pods";

}  // namespace api::well_known
