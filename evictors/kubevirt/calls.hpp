#pragma once

/// The calls of evictor kubevirt, its parameters and what it remembers.

#include <optional>
#include <string>
#include <string_view>

#include "evictors/evictor.hpp"
#include "evictors/kubevirt/facts.hpp"

namespace evictors::kubevirt {

// --- parameters
inline constexpr std::string_view kVmMode = "mode";  ///< Eviction (default) or Migration
inline constexpr std::string_view kRemoteFailures = "remoteFailures";
inline constexpr std::string_view kAddedNodeSelector = "addedNodeSelector";  ///< "zone=a,disk=ssd"; mode Migration
/// "true": an Evacuation of a policy may shut the guest down where its VM does not migrate.
inline constexpr std::string_view kAllowShutdown = "allowShutdown";
inline constexpr int kUsualRemoteFailures = 3;
/// KubeVirt keeps five finished migrations: more failures cannot be counted.
inline constexpr int kMaxRemoteFailures = 5;
bool in_migration_mode(const EvictorContext& context);
int remote_failures(const EvictorContext& context);
/// It names where the VM is to go, and the operator did not make it: KubeVirt lets only administrators choose that.
bool chooses_target_by_hand(const EvictorContext& context);
/// nullopt: malformed.
std::optional<std::vector<std::pair<std::string, std::string>>> parse_node_selector(std::string_view text);

// --- status.refs
inline constexpr std::string_view kVmiRef = "vmi";
inline constexpr std::string_view kVmiUidRef = "vmiUid";
inline constexpr std::string_view kMachineRef = "virtualMachine";
inline constexpr std::string_view kStrategyRef = "evictionStrategy";
inline constexpr std::string_view kMarkOwnedRef = "markOwned";    ///< "true": the mark is there because of us
inline constexpr std::string_view kKnownRef = "finishedBefore";   ///< finished migrations before we asked: UIDs, or "-"
inline constexpr std::string_view kMigrationRef = "migration";    ///< the migration under way: its name
inline constexpr std::string_view kVersionRef = "kubevirtMinor";  ///< of version 1.<minor>, as last seen
inline constexpr std::string_view kNoCancelRef = "cancelUnsupported";
/// "false": the pod is the target of a migration that has not arrived; "true": the guest has run in it.
inline constexpr std::string_view kHostedRef = "hostedVm";
inline constexpr std::string_view kNoNodeRef =
    "targetUnschedulable";  ///< "<migration uid>: why no node took its target"

// --- actions
inline constexpr std::string_view kCreateMigration = "CreateMigration";
inline constexpr std::string_view kCancelEvacuation = "CancelEvacuation";
inline constexpr std::string_view kDeleteMigration = "DeleteMigration";
/// In Action::pre_state of the eviction, behind what post_eviction() wrote.
inline constexpr std::string_view kMarkAbsent = "markPresent=false";
inline constexpr std::string_view kMarkPresent = "markPresent=true";

/// "evac-<evacuation uid>-<attempt>": the same after a crash.
std::string own_migration_name(const EvictorContext& context);
Action create_migration(const EvictorContext& context, const std::string& vmi);
Action cancel_evacuation(const EvictorContext& context, const std::string& vmi, const std::string& node);
Action delete_migration(const EvictorContext& context, const Migration& migration);

}  // namespace evictors::kubevirt
