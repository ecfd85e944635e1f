#pragma once

/// Types of the KubeVirt fake (wire-protocols.md#kubevirt): names, the View that its parts read and the Writes that
/// they return. The parts are pure functions from a View to Writes, so that the same rules run on the simulator's store
/// (kubevirt.hpp) and against a real API server (test/fakes/kubevirt).

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/kubevirt.hpp"
#include "kube/resource.hpp"
#include "simulator/store.hpp"

namespace simulator::kubevirt {

inline constexpr std::string_view kLauncherLabel = "kubevirt.io";  ///< virt-launcher, hotplug-disk
inline constexpr std::string_view kLauncher = "virt-launcher";
inline constexpr std::string_view kHotplugDisk = "hotplug-disk";
inline constexpr std::string_view kCreatedBy = "kubevirt.io/created-by";
inline constexpr std::string_view kVmName = "vm.kubevirt.io/name";  ///< host name of the guest; deprecated
inline constexpr std::string_view kVmiId = "vmi.kubevirt.io/id";    ///< name of the VMI, since 1.7
inline constexpr std::string_view kNodeName = "kubevirt.io/nodeName";
inline constexpr std::string_view kDomain = "kubevirt.io/domain";
inline constexpr std::string_view kVmiName = "kubevirt.io/vmi-name";
inline constexpr std::string_view kJobUid = "kubevirt.io/migrationJobUID";
inline constexpr std::string_view kJobName = "kubevirt.io/migrationJobName";
inline constexpr std::string_view kTargetReady = "kubevirt.io/migration-target-ready-timestamp";
inline constexpr std::string_view kTransport = "kubevirt.io/migrationTransportUnix";
inline constexpr std::string_view kTargetNode = "kubevirt.io/migrationTargetNodeName";
inline constexpr std::string_view kMigrationName = "kubevirt.io/migrationName";
inline constexpr std::string_view kEvacuationMigration = "kubevirt.io/evacuationMigration";
inline constexpr std::string_view kWorkloadUpdate = "kubevirt.io/workloadUpdateMigration";
inline constexpr std::string_view kEvictionSource = "kubevirt.io/eviction-source";
inline constexpr std::string_view kUnschedulableTimeout = "kubevirt.io/migrationUnschedulablePodTimeoutSeconds";
inline constexpr std::string_view kPendingTimeout = "kubevirt.io/migrationPendingPodTimeoutSeconds";
inline constexpr std::string_view kFinalizer = "kubevirt.io/migrationJobFinalize";
inline constexpr std::string_view kFailedCount =
    "simulator.evacuator.dev/failed-migrations";  ///< set by the script, on the VMI
inline constexpr std::string_view kBudgetPrefix = "kubevirt-disruption-budget-";

/// Default version if the KubeVirt object has none.
inline constexpr std::string_view kDefaultVersion = "v1.7.0";
inline constexpr std::string_view kPriorityGate = "MigrationPriorityQueue";

struct Config {
  int minor = 7;               ///< version 1.<minor>
  int patch = 0;               ///< version 1.<minor>.<patch>
  bool priority_gate = false;  ///< feature gate MigrationPriorityQueue
  std::string strategy;        ///< cluster-wide evictionStrategy, empty means None
  std::int64_t per_cluster = 5;
  std::int64_t per_node = 2;
  std::string drain_taint = "kubevirt.io/drain";
  bool webhook_down = false;
  bool refuses_callers = false;  ///< virt-api's own authorization fails for every call of its subresources

  /// Migrations have a field for labels required of the target node.
  bool has_node_selectors() const { return minor >= 6; }
  /// Migrations have priorities and are queued by them rather than in the evacuation controller.
  bool has_priorities() const { return minor >= 9 || (minor >= 7 && priority_gate); }
  /// Evictions of hotplug disk pods are refused.
  bool guards_hotplug_pods() const { return minor >= 7 || (minor == 6 && patch >= 1); }
  /// The completed launcher of a successful migration is deleted with the migration.
  bool collects_launchers() const { return minor >= 9; }
};
/// Returns the minor number of "v1.7.0", 0 for 0.x, and that of the default version for invalid text.
int minor_of(std::string_view version);
/// Returns the patch number of "v1.6.1", 0 if it is missing.
int patch_of(std::string_view version);
/// Returns the defaults for nullptr.
Config config_of(const api::Json* kubevirt);

/// One write. Merge patches are guarded by `uid`, so that a new object with the same name is not changed.
struct Step {
  enum class Verb { kCreate, kMerge, kMergeStatus, kDelete, kEvent };
  Verb verb = Verb::kMerge;
  kube::ResourceType type{};
  api::ObjectKey key;  ///< for kCreate, only the namespace is used
  std::string uid;
  api::Json body;  ///< object, patch, or the object that an Event regards
  std::string reason;
  std::string note;
};

/// Writes to perform now, and when to run again even without changes.
struct Writes {
  std::vector<Step> steps;
  std::optional<base::TimePoint> due;

  void create(const kube::ResourceType& type, api::Json object);
  void merge(const kube::ResourceType& type, const api::Json& object, api::Json patch);
  void merge_status(const kube::ResourceType& type, const api::Json& object, api::Json patch);
  void remove(const kube::ResourceType& type, const api::Json& object);
  void event(const api::Json& about, std::string_view reason, std::string note);
  void wake_at(base::TimePoint when);
};

/// Snapshot of the objects that KubeVirt's controllers watch. Lists are ordered by namespace and name.
struct View {
  Config config;
  base::TimePoint now;
  std::vector<Object> vmis;
  std::vector<Object> vmims;
  std::vector<Object> launchers;  ///< pods with label kubevirt.io=virt-launcher
  std::vector<Object> budgets;    ///< budgets created by KubeVirt
  std::set<std::string> drained;  ///< nodes with the drain taint

  /// Functions that return one object return nullptr if there is none.
  Object vmi(const std::string& ns, const std::string& name) const;
  Object vmi_of(const api::Json& vmim) const;
  std::vector<Object> launchers_of(const api::Json& vmi) const;
  /// Returns the launchers of the VMI that are neither terminal nor terminating.
  std::vector<Object> active_launchers_of(const api::Json& vmi) const;
  std::vector<Object> migrations_of(const api::Json& vmi) const;
  /// Returns the launcher created for that migration.
  Object target_pod_of(const api::Json& vmim) const;
  /// Returns the active launcher on the guest's node.
  Object current_pod_of(const api::Json& vmi) const;
};

/// Access of the rules to an API server. Errors contain Kubernetes' own messages.
class Port {
 public:
  virtual ~Port() = default;
  virtual base::Result<Object> get(const kube::ResourceType& type, const api::ObjectKey& key) const = 0;
  virtual base::Result<std::vector<Object>> list(const kube::ResourceType& type) const = 0;
  virtual base::Status carry_out(const Step& step) = 0;
};

/// Returns the settings of the first KubeVirt object, or the defaults without one.
Config read_config(const Port& port);
base::Result<View> read_view(const Port& port, base::TimePoint now);

// --- accessors of KubeVirt's objects
std::string label_of(const api::Json& object, std::string_view key);
std::string annotation_of(const api::Json& object, std::string_view key);
/// Returns status.evacuationNodeName.
std::string mark_of(const api::Json& vmi);
/// Returns the VMI's evictionStrategy, or that of the cluster.
std::string strategy_of(const api::Json& vmi, const Config& config);
bool is_live_migratable(const api::Json& vmi);
/// Returns true if condition LiveMigratable is False. A missing condition does not forbid migration.
bool forbids_migration(const api::Json& vmi);
/// Returns true if a VMI or VMIM has phase Succeeded or Failed.
bool is_final(const api::Json& object);
/// Returns true if a VMIM was admitted and has not ended.
bool is_running(const api::Json& vmim);
/// Returns true if a hand-over to the nodes has begun and has not ended.
bool is_migrating(const api::Json& vmi);
/// Returns true if the guest runs on the target, but the nodes have not completed the migration yet.
bool has_arrived(const api::Json& vmi);
/// Returns true for LiveMigrate and LiveMigrateIfPossible.
bool migrates_by_strategy(std::string_view strategy);
/// Returns when the VMIM or VMI entered its phase, or was created.
base::TimePoint phase_since(const api::Json& object);
/// Returns status.phaseTransitionTimestamps of the object with `phase` added.
api::Json with_transition(const api::Json& object, std::string_view phase, base::TimePoint now);

/// Returns the three CustomResourceDefinitions of version 1.<minor>. Migrations have only the fields of that version; a
/// server prunes others. VMIs and KubeVirt accept any field.
std::vector<api::Json> definitions(int minor);

}  // namespace simulator::kubevirt

namespace simulator::objects {

/// Returns the KubeVirt object of an installation of that version, such as "v1.7.0", with those feature gates.
api::Json kubevirt(std::string_view version, std::string_view cluster_strategy = {},
                   const std::vector<std::string>& feature_gates = {});
/// Returns a VMI as stored by virt-api, which the fake then starts. An empty strategy is omitted.
api::Json virtual_machine(std::string_view ns, std::string_view name, std::string_view memory,
                          std::string_view strategy = "LiveMigrate");

}  // namespace simulator::objects
