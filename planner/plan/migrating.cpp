#include "planner/plan/migrating.hpp"

#include "api/meta/well_known.hpp"
#include "api/virtual_machine.hpp"

namespace planner {
namespace {

constexpr std::string_view kCreatedByLabel = "kubevirt.io/created-by";

/// Returns the UID of the VMI that an active launcher pod runs, or "" if the pod is no launcher or is terminal.
const std::string& machine_uid_of(const api::Pod& pod) {
  static const std::string kNone;
  if (!api::is_launcher(pod) || pod.is_terminal()) return kNone;
  return pod.meta.labels.value(kCreatedByLabel);
}

}  // namespace

MigratingPods::MigratingPods(const scheduling::ClusterSnapshot& cluster)
    : cluster_(cluster), is_launcher_(cluster, api::is_launcher) {}

const std::unordered_set<std::string>& MigratingPods::machines() {
  if (machines_) return *machines_;
  machines_.emplace();
  std::unordered_set<std::string> seen;
  for (const scheduling::PodIndex index : cluster_.pods()) {
    const std::string& machine = machine_uid_of(cluster_.pod(index));
    if (!machine.empty() && !seen.insert(machine).second) machines_->insert(machine);
  }
  return *machines_;
}

std::optional<scheduling::Refusal> MigratingPods::refusal(scheduling::PodIndex index) {
  const api::Pod& pod = cluster_.pod(index);
  if (api::is_hotplug_pod(pod))
    return scheduling::Refusal{"FollowsMachine", "it attaches disks to a virtual machine and moves with it"};
  const bool launcher = is_launcher_(index);
  if (launcher && pod.is_terminal())  // KubeVirt leaves the annotation checked below on finished launchers
    return scheduling::Refusal{"MigrationFinished", "it is left over from a migration, and KubeVirt removes it"};
  if (pod.meta.annotations.contains(api::well_known::kEvictionInProgress))
    return scheduling::Refusal{"MigrationInProgress", "its owner is already moving it"};
  if (!launcher) return std::nullopt;
  const std::string& machine = machine_uid_of(pod);
  if (machine.empty() || !machines().contains(machine)) return std::nullopt;
  return scheduling::Refusal{"MigrationInProgress", "its virtual machine is being migrated"};
}

}  // namespace planner
