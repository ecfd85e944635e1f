#pragma once

/// State of one launcher pod's VM, parsed from KubeVirt's objects in the evictor's documents. Untrusted input: invalid
/// values read as absent (wire-protocols.md#kubevirt).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evictors/evictor.hpp"

namespace evictors::kubevirt {

/// One VirtualMachineInstanceMigration of the VM.
struct Migration {
  std::string name;
  std::string uid;
  std::string phase;           ///< "" before Pending is set
  std::string evacuated_node;  ///< annotation of KubeVirt's evacuation controller; empty if created by another client
  std::string failure;
  std::string created;
  std::string obstacle;  ///< obstacle shown by its conditions, empty if none
  bool terminating = false;
  bool has_arrived = false;  ///< the guest runs on the target, but the migration is not yet complete

  bool is_final() const { return phase == "Succeeded" || phase == "Failed"; }
  bool has_failed() const { return phase == "Failed"; }
  /// WaitingForSync and Synchronizing: a decentralized migration waits for its other half.
  bool is_queued() const {
    return phase.empty() || phase == "Pending" || phase == "WaitingForSync" || phase == "Synchronizing";
  }
  /// Returns true if the nodes have the migration but copy nothing yet. KubeVirt aborts it only once it runs.
  bool is_preparing() const { return phase == "PreparingTarget" || phase == "TargetReady"; }
};

/// status.migrationState of the VMI.
struct VmMove {
  std::string migration_uid;
  std::string source_node;
  std::string target_node;
  std::string target_pod;
  std::string mode;
  std::string failure;
  std::string fingerprint;  ///< changes with every relevant change
  bool ended = false;       ///< endTimestamp is set; after a success the guest already runs on the target
  bool completed = false;
  bool failed = false;
};

/// Limits of KubeVirt for the duration of a migration. Values are absent if not set.
struct MigrationSettings {
  std::optional<std::int64_t> per_gib;  ///< completionTimeoutPerGiB in seconds, 0 for no limit
  std::optional<bool> disrupts;         ///< allowWorkloadDisruption, else allowPostCopy
  std::optional<std::int64_t> factor;   ///< experimental.stallDetector.completionTimeoutFactor, rounded up
};

struct VmFacts {
  std::string name;
  std::string uid;
  std::string node;  ///< node on which the guest runs
  std::string mark;  ///< evacuationNodeName
  std::string phase;
  std::string strategy;    ///< the VMI's own evictionStrategy; if empty, the cluster's applies
  std::string machine;     ///< the VirtualMachine that owns the VMI, empty for a bare VMI
  std::string active_uid;  ///< UID of the pod that runs on `node`
  std::optional<std::int64_t> memory_bytes;
  std::int64_t disk_bytes = 0;  ///< disk bytes that a migration copies in addition, as far as the VMI shows them
  bool can_migrate = false;     ///< condition LiveMigratable is True
  bool cannot_migrate = false;  ///< condition LiveMigratable is False; absent while the guest boots
  std::string why_not;          ///< "<reason>: <message>" of the condition if it is False
  /// The VMI's own nodeSelector, which takes precedence over addedNodeSelector.
  std::vector<std::pair<std::string, std::string>> node_selector;
  MigrationSettings settings;  ///< resolved by KubeVirt for the last migration from cluster and MigrationPolicy
  VmMove move;
};

/// State of the KubeVirt object.
struct VmSystem {
  bool known = false;
  std::optional<int> minor;  ///< minor of version 1.<minor>, 0 for 0.x
  std::string strategy;
  MigrationSettings settings;
};

/// State of the VirtualMachine that owned the VMI, once the VMI is gone.
enum class MachineState {
  kNotRead,  ///< not read or unreadable
  kKept,     ///< starts the guest again
  kStopped,  ///< does not start the guest again
  kGone,     ///< deleted, or being deleted
};

/// Result of the read of the VMI.
enum class LookupResult {
  kNotRead,  ///< not requested in this phase
  kSeen,
  kGone,       ///< the VMI does not exist
  kNotServed,  ///< KubeVirt is not installed
  kForbidden,
  kUnreadable,  ///< another error, or invalid content
};

struct VmState {
  LookupResult sight = LookupResult::kNotRead;
  std::string problem;  ///< reason if `sight` is not kSeen
  VmFacts vmi;
  bool migrations_known = false;
  std::vector<Migration> migrations;  ///< oldest first
  MachineState machine = MachineState::kNotRead;
  std::string unschedulable;  ///< PodScheduled message of current()'s target pod, if no node accepts it
  VmSystem system;

  bool seen() const { return sight == LookupResult::kSeen && migrations_known; }
  /// Returns the newest migration that is neither finished nor arrived, or nullptr.
  const Migration* current() const {
    const auto found = std::find_if(migrations.rbegin(), migrations.rend(),
                                    [](const auto& m) { return !m.is_final() && !m.has_arrived; });
    return found == migrations.rend() ? nullptr : &*found;
  }
  const Migration* named(std::string_view name) const {
    const auto found = std::ranges::find(migrations, name, &Migration::name);
    return found == migrations.end() ? nullptr : &*found;
  }
};

/// Effect of an eviction of the pod on its VM.
enum class MachineFate {
  kMigrates,
  kUndecided,  ///< unknown while the guest boots; the VM migrates if it can
  kRefused,    ///< KubeVirt refuses the eviction because the VM cannot migrate
  kExternal,   ///< an external controller moves or drains it
  kShutDown,   ///< the guest is shut down
  kUnknown,    ///< the VMI was not read, or it uses the cluster's strategy, which is unknown
};
MachineFate fate_of(const VmState& view);
/// Computes the MachineFate from the caller's GET of the VMI and LIST of KubeVirt objects.
MachineFate fate_of(const Document& vmi, const Document& kubevirts);
/// Returns the VM's evictionStrategy, else the cluster's, empty if neither is known.
const std::string& strategy_of(const VmState& view);

inline constexpr std::string_view kVmiDocument = "vmi";
inline constexpr std::string_view kMachineDocument = "machine";  ///< the VirtualMachine, once the VMI is gone
inline constexpr std::string_view kMigrationsDocument = "migrations";
inline constexpr std::string_view kKubeVirtDocument = "kubevirt";
inline constexpr std::string_view kCreatorDocument = "creator";  ///< a SubjectAccessReview
inline constexpr std::string_view kTargetDocument = "target";    ///< pods of current(), until a node accepts the target

VmState read_state(const EvictorContext& context);

// --- ownership of the VM's mark and migrations
/// Returns true if an eviction might shut the guest down, because KubeVirt does not yet show whether the VM can
/// migrate.
bool might_shut_down(const EvictorContext& context, const VmState& view);

/// Returns the node that the VM is to leave.
const std::string& source_node(const EvictorContext& context);
/// Returns true if KubeVirt's mark names source_node().
bool is_marked_for_us(const EvictorContext& context, const VmState& view);
/// Returns true if Evacuator's call set the mark, so that it may remove it.
bool mark_is_ours(const EvictorContext& context);
/// Returns true for a migration that KubeVirt's evacuation controller created for source_node().
bool evacuates(const EvictorContext& context, const Migration& migration);
/// Returns true if the pod is the target of a migration and the guest has never run in it. Its end moves nothing.
bool is_unused_target(const EvictorContext& context);
/// Returns true if the guest has left source_node(). Its old pod is about to end.
bool has_moved(const EvictorContext& context, const VmState& view);
/// Returns true if the guest already runs on the target while its memory is still being copied. Do not stop the
/// migration then.
bool is_in_post_copy(const VmState& view);

/// Returns the timeout for all tries: 900 s plus `tries` times KubeVirt's limit for one copy, clamped to 30 minutes … 7
/// days. KubeVirt allows completionTimeoutPerGiB for each GB (10^9 bytes, rounded up) of memory and disks to copy,
/// twice that if the guest may be disrupted, multiplied by the factor of the stall detector. Settings resolved for the
/// VM take precedence over the cluster's. The limit is 7 days if completionTimeoutPerGiB is 0.
base::seconds migration_timeout(const VmFacts& vmi, const VmSystem& system, const api::Pod* pod, int tries);
/// Returns the bytes of the disks that move with the VM: volumes that KubeVirt migrates to another PVC and, with block
/// migration, ephemeral disks. KubeVirt measures ephemeral disks as files. Only their upper bounds are visible in the
/// VMI, and often nothing for the overlay of a container disk. Invalid values count as 0.
std::int64_t disks_to_copy(const api::Json& vmi);

}  // namespace evictors::kubevirt
