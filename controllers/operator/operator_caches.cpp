#include "controllers/operator/operator_caches.hpp"

#include <fmt/format.h>

#include "api/core/codec.hpp"
#include "controllers/evacuation/io.hpp"
#include "kube/resource.hpp"

namespace controllers {
namespace {

/// Minor version of Kubernetes that enables streaming lists by default. Other servers refuse them.
constexpr int kStreamsListsSince = 32;

/// Each seed gives a different jitter.
kube::ReflectorOptions reflector_options(std::uint64_t seed) {
  kube::ReflectorOptions chosen;
  chosen.jitter_seed = seed;
  return chosen;
}

/// Options for built-in kinds. Kinds that we write ourselves are listed from the store, because the API server's watch
/// cache could hide recent writes from a new leader.
kube::ReflectorOptions core_options(std::uint64_t seed, const std::shared_ptr<kube::StreamedLists>& streamed_lists) {
  kube::ReflectorOptions chosen = reflector_options(seed);
  chosen.streamed_lists = streamed_lists;
  chosen.list.protobuf = true;
  chosen.starts_from_cache = true;
  return chosen;
}

/// Tenants control the size of Evacuations, so the page size must bound memory.
kube::ReflectorOptions evacuation_options() {
  kube::ReflectorOptions chosen = reflector_options(10);
  chosen.list.limit = 100;
  return chosen;
}

}  // namespace

OperatorCaches::OperatorCaches(kube::Client& client, const base::Clock& clock, const kube::Discovery& discovery,
                               const base::Log& log)
    : streamed_lists(std::make_shared<kube::StreamedLists>(
          scheduling::minor_version(discovery.server_version).value_or(0) >= kStreamsListsSince)),
      pods(client, clock, kube::kPods, api::decode_pod, core_options(1, streamed_lists), log),
      nodes(client, clock, kube::kNodes, api::decode_node, core_options(2, streamed_lists), log),
      namespaces(client, clock, kube::kNamespaces, api::decode_namespace, core_options(3, streamed_lists), log),
      // List items do not contain their version, and the two versions interpret an empty selector differently.
      pdbs(client, clock, discovery.pdbs,
           discovery.pdbs == kube::kPdbsV1beta1 ? api::decode_pdb_v1beta1 : api::decode_pdb,
           core_options(4, streamed_lists), log),
      priority_classes(client, clock, kube::kPriorityClasses, api::decode_priority_class,
                       core_options(5, streamed_lists), log),
      claims(client, clock, kube::kPersistentVolumeClaims, api::decode_pvc, core_options(6, streamed_lists), log),
      volumes(client, clock, kube::kPersistentVolumes, api::decode_pv, core_options(7, streamed_lists), log),
      replica_sets(client, clock, kube::kReplicaSets, api::decode_workload, core_options(8, streamed_lists), log),
      stateful_sets(client, clock, kube::kStatefulSets, api::decode_workload, core_options(9, streamed_lists), log),
      jobs(client, clock, kube::kJobs, api::decode_workload, core_options(12, streamed_lists), log),
      storage_classes(client, clock, kube::kStorageClasses, api::decode_storage_class, core_options(13, streamed_lists),
                      log),
      csi_nodes(client, clock, kube::kCsiNodes, api::decode_csi_node, core_options(14, streamed_lists), log),
      volume_attachments(client, clock, kube::kVolumeAttachments, api::decode_volume_attachment, reflector_options(16),
                         log),
      csi_drivers(client, clock, kube::kCsiDrivers, api::decode_csi_driver, reflector_options(17), log),
      storage_capacities(client, clock, kube::kCsiStorageCapacities, api::decode_csi_storage_capacity,
                         reflector_options(18), log),
      evacuations(client, clock, kube::kEvacuations, evacuation::decode_whole_evacuation, evacuation_options(), log),
      policies(client, clock, kube::kPolicies, decode_observed_policy, reflector_options(11), log) {
  if (discovery.resource_claims)
    resource_claims.emplace(client, clock, *discovery.resource_claims, api::decode_resource_claim,
                            reflector_options(15), log);
  if (discovery.pod_groups)
    pod_groups.emplace(client, clock, *discovery.pod_groups, api::decode_scheduling_pod_group, reflector_options(19),
                       log);
}

std::optional<base::Error> OperatorCaches::Named::refusal() const {
  if (without == nullptr || reflector->has_synced()) return std::nullopt;
  const auto error = reflector->last_error();
  const bool refused =
      error && (error->code == base::ErrorCode::kForbidden || error->code == base::ErrorCode::kNotFound);
  return refused ? error : std::nullopt;
}

std::optional<base::Duration> OperatorCaches::Named::contact_age() const {
  if (refusal()) return std::nullopt;
  return reflector->contact_age();
}

std::optional<std::string> OperatorCaches::Named::staleness() const {
  if (!reflector->has_synced() || reflector->contact_age() <= kCacheStaleAfter) return std::nullopt;
  const auto error = reflector->last_error();
  return fmt::format("{}: received nothing from the server for more than {}{}", name,
                     base::format_age(kCacheStaleAfter), error ? ": " + error->message : "");
}

std::vector<OperatorCaches::Named> OperatorCaches::all() {
  const auto cache = [](const char* name, auto& informer, const char* without = nullptr) {
    return Named{name, &informer.reflector(), without, [&informer] { return informer.store().size(); }};
  };
  std::vector<Named> named = {
      cache("pods", pods),
      cache("nodes", nodes),
      cache("namespaces", namespaces),
      cache("poddisruptionbudgets", pdbs),
      cache("priorityclasses", priority_classes),
      cache("persistentvolumeclaims", claims),
      cache("persistentvolumes", volumes),
      cache("replicasets", replica_sets),
      cache("statefulsets", stateful_sets),
      cache("jobs", jobs),
      cache("evacuations", evacuations),
      cache("deschedulerpolicies", policies),
      cache("storageclasses", storage_classes, "unbound PersistentVolumeClaims exclude no node"),
      cache("csinodes", csi_nodes, "the number of volumes per node is not limited"),
      cache("volumeattachments", volume_attachments, "volumes of deleted pods are not counted"),
      cache("csidrivers", csi_drivers, "all drivers are assumed to have enough storage capacity"),
      cache("csistoragecapacities", storage_capacities, "storage capacity does not limit the provisioning of volumes")};
  if (resource_claims) named.push_back(cache("resourceclaims", *resource_claims, "pods with devices cannot be moved"));
  if (pod_groups) named.push_back(cache("podgroups", *pod_groups, "pods of scheduling.k8s.io PodGroups stay"));
  return named;
}

std::vector<std::string> OperatorCaches::unknown() {
  std::string note;
  for (const Named& cache : all()) {
    const auto refusal = cache.refusal();
    if (!refusal) continue;
    const std::string said = note.empty() ? ": " + refusal->message : "";
    note += fmt::format("{}{} are not known, so {}{}", note.empty() ? "" : "; ", cache.name, cache.without, said);
  }
  return note.empty() ? std::vector<std::string>() : std::vector{std::move(note)};
}

std::vector<std::string> OperatorCaches::stale() {
  std::vector<std::string> found;
  for (const Named& cache : all()) {
    if (auto text = cache.staleness()) found.push_back(*std::move(text));
  }
  return found;
}

scheduling::SnapshotInput OperatorCaches::snapshot() const {
  return {.pods = pods.store().list(),
          .nodes = nodes.store().list(),
          .pdbs = pdbs.store().list(),
          .namespaces = namespaces.store().list(),
          .priority_classes = priority_classes.store().list(),
          .claims = claims.store().list(),
          .volumes = volumes.store().list(),
          .workloads = jobs.store().list(),  // for strategies that check which controller cleans up terminal pods
          .storage_classes = storage_classes.store().list(),
          .csi_nodes = csi_nodes.store().list(),
          .resource_claims =
              resource_claims ? resource_claims->store().list() : scheduling::SnapshotInput::List<api::ResourceClaim>(),
          .volume_attachments = volume_attachments.store().list(),
          .csi_drivers = csi_drivers.store().list(),
          .storage_capacities = storage_capacities.store().list(),
          .pod_groups =
              pod_groups ? pod_groups->store().list() : scheduling::SnapshotInput::List<api::SchedulingPodGroup>()};
}

std::optional<std::int32_t> OperatorCaches::replicas_of(const std::string& ns, const api::OwnerReference& owner) const {
  const auto* store = owner.kind == "ReplicaSet"    ? &replica_sets.store()
                      : owner.kind == "StatefulSet" ? &stateful_sets.store()
                                                    : nullptr;
  const auto workload = store ? store->get({ns, owner.name}) : nullptr;
  if (!workload || workload->meta.uid != owner.uid) return std::nullopt;
  return workload->replicas;
}

}  // namespace controllers
