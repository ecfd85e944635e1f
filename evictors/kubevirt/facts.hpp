#pragma once

/// What KubeVirt's objects say about one launcher pod, read from the evictor's documents. Reads whatever stands there:
/// nonsense counts as absent (wire-protocols.md#kubevirt).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evictors/evictor.hpp"

namespace evictors::kubevirt {

/// One VirtualMachineInstanceMigration of our VM.
struct Migration {
  std::string name;
  std::string uid;
  std::string phase;           ///< "" is Pending's forerunner
  std::string evacuated_node;  ///< annotation of KubeVirt's evacuation controller; empty: somebody else made it
  std::string failure;
  std::string created;
  std::string obstacle;  ///< what its conditions say holds it up; empty: nothing
  bool terminating = false;
  bool has_arrived = false;  ///< the guest runs on the target; the nodes have only not completed it yet

  bool is_final() const { return phase == "Succeeded" || phase == "Failed"; }
  bool has_failed() const { return phase == "Failed"; }
  /// A decentralized migration first waits for its other half.
  bool is_queued() const {
    return phase.empty() || phase == "Pending" || phase == "WaitingForSync" || phase == "Synchronizing";
  }
  /// The nodes have it and copy nothing yet: KubeVirt aborts it only once it runs.
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
  std::string fingerprint;  ///< changes with anything that matters
  bool ended = false;       ///< endTimestamp is set: on success the guest runs on the target, before `completed`
  bool completed = false;
  bool failed = false;
};

/// How long KubeVirt lets a migration copy; absent where nobody says it.
struct MigrationSettings {
  std::optional<std::int64_t> per_gib;  ///< completionTimeoutPerGiB in seconds; 0: no limit
  std::optional<bool> disrupts;         ///< allowWorkloadDisruption, else allowPostCopy
  std::optional<std::int64_t> factor;   ///< experimental.stallDetector.completionTimeoutFactor, rounded up
};

struct VmFacts {
  std::string name;
  std::string uid;
  std::string node;  ///< where the guest runs
  std::string mark;  ///< evacuationNodeName
  std::string phase;
  std::string strategy;    ///< its own evictionStrategy; empty: the cluster's counts
  std::string machine;     ///< the VirtualMachine that owns it; empty: a bare VMI
  std::string active_uid;  ///< of the pod that runs on `node`
  std::optional<std::int64_t> memory_bytes;
  std::int64_t disk_bytes = 0;  ///< what a migration copies beside the memory, as far as the VMI tells
  bool can_migrate = false;     ///< condition LiveMigratable is True
  bool cannot_migrate = false;  ///< it is False; while a guest boots there is no such condition
  std::string why_not;          ///< "<reason>: <message>" of that condition, when it is False
  std::vector<std::pair<std::string, std::string>> node_selector;  ///< its own; it wins over addedNodeSelector
  MigrationSettings settings;  ///< as KubeVirt resolved them for its last migration: cluster and MigrationPolicy
  VmMove move;
};

/// What the KubeVirt object says.
struct VmSystem {
  bool known = false;
  std::optional<int> minor;  ///< of version 1.<minor>; 0 for 0.x
  std::string strategy;
  MigrationSettings settings;
};

/// What the VirtualMachine that owns the VMI says, once the VMI is gone.
enum class MachineSight {
  kNotRead,  ///< or unreadable
  kKept,     ///< it starts the guest again
  kStopped,  ///< it does not want the guest to run
  kGone,     ///< deleted, or being deleted
};

/// How the read of the VMI ended.
enum class LookupResult {
  kNotRead,  ///< not asked for in this phase
  kSeen,
  kGone,       ///< there is no such VMI
  kNotServed,  ///< there is no KubeVirt
  kForbidden,
  kUnreadable,  ///< another error, or nonsense
};

struct VmState {
  LookupResult sight = LookupResult::kNotRead;
  std::string problem;  ///< why it was not seen
  VmFacts vmi;
  bool migrations_known = false;
  std::vector<Migration> migrations;  ///< oldest first
  MachineSight machine = MachineSight::kNotRead;
  std::string unschedulable;  ///< why no node takes the target pod of current(): its PodScheduled message
  VmSystem system;

  bool seen() const { return sight == LookupResult::kSeen && migrations_known; }
  /// The newest one that is neither finished nor has arrived, or nullptr.
  const Migration* current() const;
  const Migration* named(std::string_view name) const;
};

/// What becomes of the VM when its pod is evicted, as far as its objects show.
enum class MachineFate {
  kMigrates,
  kUndecided,  ///< it is to migrate, and its guest still boots: whether it can is not known yet
  kRefused,    ///< KubeVirt refuses the eviction: it cannot migrate
  kExternal,   ///< an external controller moves or drains it
  kShutDown,   ///< the guest is shut down
  kUnknown,    ///< not seen, or its strategy is the cluster's, which is not known
};
MachineFate fate_of(const VmState& view);
/// MachineFate by a GET of the VMI and a LIST of KubeVirt objects that the caller made.
MachineFate fate_of(const Document& vmi, const Document& kubevirts);
/// Its evictionStrategy, else the cluster's; empty: none that is known.
const std::string& strategy_of(const VmState& view);

inline constexpr std::string_view kVmiDocument = "vmi";
inline constexpr std::string_view kMachineDocument = "machine";  ///< the VirtualMachine, once the VMI is gone
inline constexpr std::string_view kMigrationsDocument = "migrations";
inline constexpr std::string_view kKubeVirtDocument = "kubevirt";
inline constexpr std::string_view kCreatorDocument = "creator";  ///< a SubjectAccessReview
inline constexpr std::string_view kTargetDocument = "target";    ///< pods of current(), while it looks for a node

VmState read_view(const EvictorContext& context);

/// How long the whole may take: 900 s, and `tries` times what KubeVirt allows for one copy; at least half an hour, at
/// most a week. KubeVirt allows completionTimeoutPerGiB for each GB (10^9 bytes, rounded up) of memory and disks to
/// copy, twice that where the guest may be disrupted, and the factor of the stall detector times that. What it resolved
/// for the VM goes before the cluster's settings.
base::seconds migration_timeout(const VmFacts& vmi, const VmSystem& system, const api::Pod* pod, int tries);

}  // namespace evictors::kubevirt
