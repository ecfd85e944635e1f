#pragma once

/// Calls, parameters and refs of evictor kubevirt.

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
/// "true" allows Evacuations of a policy to shut the guest down if its VM cannot migrate.
inline constexpr std::string_view kAllowShutdown = "allowShutdown";
inline constexpr int kDefaultRemoteFailures = 3;
/// KubeVirt keeps five finished migrations, so more failures cannot be counted.
inline constexpr int kMaxRemoteFailures = 5;
bool in_migration_mode(const EvictorContext& context);
int remote_failures(const EvictorContext& context);
/// Returns true if a manual Evacuation names the target of the VM. KubeVirt allows only administrators to choose it.
bool is_manual_with_target(const EvictorContext& context);
/// Returns nullopt if `text` is malformed.
std::optional<std::vector<std::pair<std::string, std::string>>> parse_node_selector(std::string_view text);

// --- status.refs
inline constexpr std::string_view kVmiRef = "vmi";
inline constexpr std::string_view kVmiUidRef = "vmiUid";
inline constexpr std::string_view kMachineRef = "virtualMachine";
inline constexpr std::string_view kStrategyRef = "evictionStrategy";
inline constexpr std::string_view kMarkOwnedRef = "markOwned";    ///< "true" if Evacuator's call set the mark
inline constexpr std::string_view kKnownRef = "finishedBefore";   ///< UIDs of earlier finished migrations, or "-"
inline constexpr std::string_view kMigrationRef = "migration";    ///< name of the running migration
inline constexpr std::string_view kVersionRef = "kubevirtMinor";  ///< minor of the last known version 1.<minor>
inline constexpr std::string_view kNoCancelRef = "cancelUnsupported";
/// "false" if the pod is the target of a migration that has not completed, "true" once the guest has run in it.
inline constexpr std::string_view kHostedRef = "hostedVm";
inline constexpr std::string_view kNoNodeRef =
    "targetUnschedulable";  ///< "<migration uid>: why no node accepted its target"

// --- actions
inline constexpr std::string_view kCreateMigration = "CreateMigration";
inline constexpr std::string_view kCancelEvacuation = "CancelEvacuation";
inline constexpr std::string_view kDeleteMigration = "DeleteMigration";
/// Appended to Action::pre_state of the eviction after the text from post_eviction().
inline constexpr std::string_view kMarkAbsent = "markPresent=false";
inline constexpr std::string_view kMarkPresent = "markPresent=true";

/// Returns "evac-<evacuation uid>-<attempt>", which is stable across restarts.
std::string own_migration_name(const EvictorContext& context);
Action create_migration(const EvictorContext& context, const std::string& vmi);
Action cancel_evacuation(const EvictorContext& context, const std::string& vmi, const std::string& node);
Action delete_migration(const EvictorContext& context, const Migration& migration);

}  // namespace evictors::kubevirt
