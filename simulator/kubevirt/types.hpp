#pragma once

/// The vocabulary of the KubeVirt fake (wire-protocols.md#kubevirt): its names, what its parts see and what they want
/// done. The parts are pure functions from a View to a Writes, so that the same rules run on the
/// simulator's store (kubevirt.hpp) and against a real API server (test/fakes/kubevirt).

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
inline constexpr std::string_view kVmName = "vm.kubevirt.io/name";
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
    "simulator.evacuator.dev/failed-migrations";  ///< by script, on the VMI
inline constexpr std::string_view kBudgetPrefix = "kubevirt-disruption-budget-";

/// The version that is played where the KubeVirt object names none.
inline constexpr std::string_view kUsualVersion = "v1.7.0";
inline constexpr std::string_view kPriorityGate = "MigrationPriorityQueue";

/// What the KubeVirt object says.
struct Config {
  int minor = 7;               ///< of version 1.<minor>
  bool priority_gate = false;  ///< feature gate MigrationPriorityQueue
  std::string strategy;        ///< cluster-wide evictionStrategy; empty: None
  std::int64_t per_cluster = 5;
  std::int64_t per_node = 2;
  std::string drain_taint = "kubevirt.io/drain";
  bool webhook_down = false;
  bool refuses_callers = false;  ///< virt-api's own authorization fails for every call of its subresources

  /// Migrations have a field for labels that the target must have.
  bool has_node_selectors() const { return minor >= 6; }
  /// Migrations have priorities, and queue by them rather than in the evacuation controller.
  bool has_priorities() const { return minor >= 9 || (minor >= 7 && priority_gate); }
};
/// The minor number of "v1.7.0"; 0 for 0.x, the usual version's for anything unreadable.
int minor_of(std::string_view version);
/// nullptr: the defaults.
Config config_of(const api::Json* kubevirt);

/// One write. Merge patches are guarded by `uid`, so that a successor of the same name is not touched.
struct Step {
  enum class Verb { kCreate, kMerge, kMergeStatus, kDelete, kEvent };
  Verb verb = Verb::kMerge;
  kube::ResourceType type{};
  api::ObjectKey key;  ///< kCreate: only the namespace counts
  std::string uid;
  api::Json body;  ///< object, patch, or what an Event is about
  std::string reason;
  std::string note;
};

/// What to do now, and when to look again even if nothing changes.
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

/// A still picture of what KubeVirt's controllers watch. Lists are ordered by namespace and name.
struct View {
  Config config;
  base::TimePoint now;
  std::vector<Object> vmis;
  std::vector<Object> vmims;
  std::vector<Object> launchers;  ///< pods with label kubevirt.io=virt-launcher
  std::vector<Object> budgets;    ///< KubeVirt's own
  std::set<std::string> drained;  ///< nodes with the drain taint

  /// nullptr: there is none.
  Object vmi(const std::string& ns, const std::string& name) const;
  Object vmi_of(const api::Json& vmim) const;
  std::vector<Object> launchers_of(const api::Json& vmi) const;
  /// Its launchers that are neither terminal nor leaving.
  std::vector<Object> active_launchers_of(const api::Json& vmi) const;
  std::vector<Object> migrations_of(const api::Json& vmi) const;
  /// The launcher that was made for that migration.
  Object target_pod_of(const api::Json& vmim) const;
};

/// How the rules reach an API server. Errors carry Kubernetes' own messages.
class Port {
 public:
  virtual ~Port() = default;
  virtual base::Result<Object> get(const kube::ResourceType& type, const api::ObjectKey& key) const = 0;
  virtual base::Result<std::vector<Object>> list(const kube::ResourceType& type) const = 0;
  virtual base::Status carry_out(const Step& step) = 0;
};

/// The first KubeVirt object; the defaults without one.
Config read_config(const Port& port);
base::Result<View> read_view(const Port& port, base::TimePoint now);

// --- reading KubeVirt's objects
std::string label_of(const api::Json& object, std::string_view key);
std::string annotation_of(const api::Json& object, std::string_view key);
/// status.evacuationNodeName
std::string mark_of(const api::Json& vmi);
/// The VMI's own evictionStrategy, or the cluster's.
std::string strategy_of(const api::Json& vmi, const Config& config);
bool is_live_migratable(const api::Json& vmi);
/// Condition LiveMigratable is False. One that is missing forbids nothing.
bool forbids_migration(const api::Json& vmi);
/// Phase Succeeded or Failed, of a VMI or a VMIM.
bool is_final(const api::Json& object);
/// A VMIM past the queue and not at its end.
bool is_running(const api::Json& vmim);
/// A hand-over to the nodes has begun and has not ended.
bool is_migrating(const api::Json& vmi);
/// LiveMigrate or LiveMigrateIfPossible.
bool migrates_by_strategy(std::string_view strategy);
/// When the VMIM entered its phase, or was created.
base::TimePoint phase_since(const api::Json& vmim);

/// The three CustomResourceDefinitions of version 1.<minor>. Migrations have the fields of that version, and no others:
/// a server prunes the rest. VMIs and KubeVirt take anything.
std::vector<api::Json> definitions(int minor);

}  // namespace simulator::kubevirt

namespace simulator::objects {

/// The KubeVirt object of an installation of that version, such as "v1.7.0", with those feature gates.
api::Json kubevirt(std::string_view version, std::string_view cluster_strategy = {},
                   const std::vector<std::string>& feature_gates = {});
/// A VMI as virt-api stores it; the fake starts it. An empty strategy is left out.
api::Json virtual_machine(std::string_view ns, std::string_view name, std::string_view memory,
                          std::string_view strategy = "LiveMigrate");

}  // namespace simulator::objects
