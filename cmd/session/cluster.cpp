#include "cmd/session/cluster.hpp"

#include <fmt/format.h>

#include "api/core/codec.hpp"
#include "kube/resource.hpp"
#include "planner/scheduling/scoring/scheduler_rules.hpp"

namespace cmd::plugin {
namespace {

/// Returns the first line of an error. Further lines are advice for a failed command, which does not apply here.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

class ClusterReader {
 public:
  explicit ClusterReader(Session& session) : session_(session) {
    const auto found = kube::discover(session.client());
    if (!found) return;
    pdbs_ = found->pdbs;
    resource_claims_ = found->resource_claims;
    pod_groups_ = found->pod_groups;
    cluster_.server_minor = scheduling::minor_version(found->server_version);
  }

  LiveCluster read(const std::string& ns) {
    scheduling::SnapshotInput input;
    const bool complete =
        read_all(kube::kPods, api::decode_pod, input.pods) & read_all(kube::kNodes, api::decode_node, input.nodes);
    read_all(pdbs_, decode_budget(), input.pdbs);
    read_all(kube::kNamespaces, api::decode_namespace, input.namespaces);
    read_all(kube::kPriorityClasses, api::decode_priority_class, input.priority_classes);
    read_all(kube::kPersistentVolumeClaims, api::decode_pvc, input.claims);
    read_all(kube::kPersistentVolumes, api::decode_pv, input.volumes);
    read_all(kube::kStorageClasses, api::decode_storage_class, input.storage_classes);
    read_all(kube::kCsiNodes, api::decode_csi_node, input.csi_nodes);
    read_all(kube::kVolumeAttachments, api::decode_volume_attachment, input.volume_attachments);
    read_all(kube::kCsiDrivers, api::decode_csi_driver, input.csi_drivers);
    read_all(kube::kCsiStorageCapacities, api::decode_csi_storage_capacity, input.storage_capacities);
    if (resource_claims_) read_all(*resource_claims_, api::decode_resource_claim, input.resource_claims);
    if (pod_groups_) read_all(*pod_groups_, api::decode_scheduling_pod_group, input.pod_groups);
    if (complete) cluster_.snapshot = std::move(input);
    read_policies();
    read_evacuations(ns);
    return std::move(cluster_);
  }

  using DecodeBudget = base::Result<api::PodDisruptionBudget> (*)(std::string_view);
  DecodeBudget decode_budget() const { return pdbs_ == kube::kPdbsV1beta1 ? api::decode_pdb_v1beta1 : api::decode_pdb; }
  const kube::ResourceType& budgets() const { return pdbs_; }

 private:
  template <typename T>
  bool read_all(const kube::ResourceType& type, base::Result<T> (*decode)(std::string_view),
                std::vector<std::shared_ptr<const T>>& into) {
    auto objects = session_.readable(type, decode);
    if (!objects) {
      cluster_.problems.push_back(first_line(objects.error().message));
      return false;
    }
    for (T& object : *objects) into.push_back(std::make_shared<const T>(std::move(object)));
    return true;
  }

  void read_policies() {
    const auto items = session_.list(kube::kPolicies, {});
    if (!items) return cluster_.problems.push_back(first_line(items.error().message));
    for (const std::string& item : *items) {
      auto policy = api::decode_descheduler_policy(std::string_view(item));
      if (policy) {
        cluster_.policies.push_back(*std::move(policy));
      } else {
        const auto meta = api::decode_meta(item);
        cluster_.problems.push_back(
            fmt::format("policy {} is invalid: {}", meta ? meta->name : "?", policy.error().message));
      }
    }
  }

  void read_evacuations(const std::string& ns) {
    auto stored = session_.evacuations({});
    if (!stored && stored.error().code == base::ErrorCode::kForbidden) stored = session_.evacuations(listing(ns));
    if (!stored) return cluster_.problems.push_back(first_line(stored.error().message));
    for (auto& each : *stored) cluster_.evacuations.push_back(std::move(each.evacuation));
  }

  Session& session_;
  kube::ResourceType pdbs_ = kube::kPdbs;
  std::optional<kube::ResourceType> resource_claims_;
  std::optional<kube::ResourceType> pod_groups_;
  LiveCluster cluster_;
};

}  // namespace

LiveCluster read_cluster(Session& session, const std::string& ns) { return ClusterReader(session).read(ns); }

base::Result<std::vector<api::PodDisruptionBudget>> budgets_in(Session& session, const std::string& ns) {
  const ClusterReader reader(session);
  return session.readable(reader.budgets(), reader.decode_budget(), listing(ns));
}

}  // namespace cmd::plugin
