#pragma once

/// JSON names of all enumerators. The CRD's enums must list the same names (test/unit/api).

#include <array>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"
#include "api/json/strict_object.hpp"

namespace api {

inline constexpr std::array kPhaseNames = {
    WireName{EvacuationPhase::kPending, "Pending"},       WireName{EvacuationPhase::kPreparing, "Preparing"},
    WireName{EvacuationPhase::kRequesting, "Requesting"}, WireName{EvacuationPhase::kInProgress, "InProgress"},
    WireName{EvacuationPhase::kEvicting, "Evicting"},     WireName{EvacuationPhase::kVerifying, "Verifying"},
    WireName{EvacuationPhase::kAborting, "Aborting"},     WireName{EvacuationPhase::kBackoff, "Backoff"},
    WireName{EvacuationPhase::kSucceeded, "Succeeded"},   WireName{EvacuationPhase::kFailed, "Failed"},
    WireName{EvacuationPhase::kCancelled, "Cancelled"}};

inline constexpr std::array kOnTimeoutNames = {WireName{OnTimeout::kCancel, "Cancel"},
                                               WireName{OnTimeout::kFail, "Fail"},
                                               WireName{OnTimeout::kNextEvictor, "NextEvictor"}};

inline constexpr std::array kHoldSlotNames = {WireName{HoldSlotUntil::kPodGone, "PodGone"},
                                              WireName{HoldSlotUntil::kReplacementReady, "ReplacementReady"}};

inline constexpr std::array kPlacementNames = {WireName{PlacementPolicy::kPreferred, "Preferred"},
                                               WireName{PlacementPolicy::kRequired, "Required"}};

inline constexpr std::array kOutcomeNames = {
    WireName{OutcomeKind::kEvicted, "Evicted"},           WireName{OutcomeKind::kMigrated, "Migrated"},
    WireName{OutcomeKind::kMovedByOwner, "MovedByOwner"}, WireName{OutcomeKind::kGoneExternally, "GoneExternally"},
    WireName{OutcomeKind::kTargetGone, "TargetGone"},     WireName{OutcomeKind::kDryRun, "DryRun"}};

inline constexpr std::array kModeNames = {WireName{PolicyMode::kDryRun, "DryRun"},
                                          WireName{PolicyMode::kManual, "Manual"},
                                          WireName{PolicyMode::kAutomatic, "Automatic"}};

inline constexpr std::array kNoEvictionNames = {WireName{NoEvictionPolicy::kPreferred, "Preferred"},
                                                WireName{NoEvictionPolicy::kMandatory, "Mandatory"}};

inline constexpr std::array kAutoscalerAnnotationsNames = {WireName{AutoscalerAnnotations::kRespect, "Respect"},
                                                           WireName{AutoscalerAnnotations::kIgnore, "Ignore"}};

inline constexpr std::array kNodeFitLevelNames = {WireName{NodeFitLevel::kBasic, "Basic"},
                                                  WireName{NodeFitLevel::kScheduler, "Scheduler"}};

inline constexpr std::array kCompatibilityNames = {WireName{Compatibility::kNone, "None"},
                                                   WireName{Compatibility::kUpstream, "Upstream"}};

inline constexpr std::array kScoringNames = {WireName{ScoringStrategyType::kLeastAllocated, "LeastAllocated"},
                                             WireName{ScoringStrategyType::kMostAllocated, "MostAllocated"}};

inline constexpr std::array kProtectionNames = {
    WireName{PodProtection::kPodsWithLocalStorage, "PodsWithLocalStorage"},
    WireName{PodProtection::kSystemCriticalPods, "SystemCriticalPods"},
    WireName{PodProtection::kFailedBarePods, "FailedBarePods"},
    WireName{PodProtection::kDaemonSetPods, "DaemonSetPods"},
    WireName{PodProtection::kPodsWithPVC, "PodsWithPVC"},
    WireName{PodProtection::kPodsWithoutPDB, "PodsWithoutPDB"},
    WireName{PodProtection::kPodsWithResourceClaims, "PodsWithResourceClaims"}};

inline constexpr std::array kPodPhaseNames = {
    WireName{PodPhase::kNone, ""},           WireName{PodPhase::kPending, "Pending"},
    WireName{PodPhase::kRunning, "Running"}, WireName{PodPhase::kSucceeded, "Succeeded"},
    WireName{PodPhase::kFailed, "Failed"},   WireName{PodPhase::kUnknown, "Unknown"}};

inline constexpr std::array kConditionStatusNames = {WireName{ConditionStatus::kTrue, "True"},
                                                     WireName{ConditionStatus::kFalse, "False"},
                                                     WireName{ConditionStatus::kUnknown, "Unknown"}};

/// Operators of label selectors. Gt and Lt are for node selectors only.
inline constexpr std::array kLabelOperatorNames = {
    WireName{SelectorOperator::kIn, "In"}, WireName{SelectorOperator::kNotIn, "NotIn"},
    WireName{SelectorOperator::kExists, "Exists"}, WireName{SelectorOperator::kDoesNotExist, "DoesNotExist"}};
inline constexpr std::array kNodeOperatorNames = {
    WireName{SelectorOperator::kIn, "In"},         WireName{SelectorOperator::kNotIn, "NotIn"},
    WireName{SelectorOperator::kExists, "Exists"}, WireName{SelectorOperator::kDoesNotExist, "DoesNotExist"},
    WireName{SelectorOperator::kGt, "Gt"},         WireName{SelectorOperator::kLt, "Lt"}};

/// Return the table of an enumeration, for fields of that type (api/json/fields.hpp).
constexpr const auto& wire_names(EvacuationPhase) { return kPhaseNames; }
constexpr const auto& wire_names(OutcomeKind) { return kOutcomeNames; }
constexpr const auto& wire_names(ConditionStatus) { return kConditionStatusNames; }
constexpr const auto& wire_names(OnTimeout) { return kOnTimeoutNames; }
constexpr const auto& wire_names(HoldSlotUntil) { return kHoldSlotNames; }
constexpr const auto& wire_names(PlacementPolicy) { return kPlacementNames; }
constexpr const auto& wire_names(NoEvictionPolicy) { return kNoEvictionNames; }

}  // namespace api
