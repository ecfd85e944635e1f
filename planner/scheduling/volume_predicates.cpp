/// Predicates about resources tied to a pod: its volumes and devices.

#include <algorithm>
#include <iterator>
#include <set>

#include "api/core/pvc_risk.hpp"
#include "api/meta/well_known.hpp"
#include "planner/scheduling/predicates.hpp"

namespace scheduling {
namespace {

/// Checks a zone or region label on a volume, which old clusters use. Several values are separated by "__".
bool label_allows(const api::PersistentVolume& volume, std::string_view key, std::string_view todays_key,
                  const api::Node& node) {
  const std::string* zones = volume.meta.labels.find(key);
  if (zones == nullptr) return true;
  const std::string* zone = node.meta.labels.find(key);
  if (zone == nullptr) zone = node.meta.labels.find(todays_key);
  if (zone == nullptr) return false;
  for (std::string_view rest = *zones; !rest.empty();) {
    const std::size_t end = std::min(rest.find("__"), rest.size());
    if (rest.substr(0, end) == *zone) return true;
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return false;
}

/// Labels of zones and regions, each with its current name.
constexpr std::pair<std::string_view, std::string_view> kPlaceLabels[] = {
    {"topology.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"topology.kubernetes.io/region", "topology.kubernetes.io/region"},
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
};

/// Returns true if all labels of the volume match the node. A node without zone and region labels accepts every volume.
bool labels_allow(const api::PersistentVolume& volume, const api::Node& node) {
  const auto says = [&](const auto& label) { return node.meta.labels.find(label.first) != nullptr; };
  return std::ranges::none_of(kPlaceLabels, says) || std::ranges::all_of(kPlaceLabels, [&](const auto& label) {
           return label_allows(volume, label.first, label.second, node);
         });
}

bool is_reachable(const api::PersistentVolume& volume, const api::Node& node) {
  if (!labels_allow(volume, node)) return false;
  return volume.required_node_terms.empty() ||
         std::ranges::any_of(volume.required_node_terms, [&](const auto& term) { return matches(term, node); });
}

const api::PersistentVolume* bound_volume(const ClusterSnapshot& cluster, const api::PersistentVolumeClaim* claim) {
  return claim == nullptr || claim->volume_name.empty() ? nullptr : cluster.find_volume(claim->volume_name);
}

const api::StorageClass* class_of(const ClusterSnapshot& cluster, std::string_view name) {
  return name.empty() ? cluster.default_storage_class() : cluster.find_storage_class(name);
}

/// Checks the requirements that apply to every volume, even one reserved for the claim.
bool is_of_kind(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim) {
  return volume.capacity >= claim.request && volume.is_block == claim.wants_block &&
         volume.attributes_class == claim.attributes_class;
}

bool fits_claim(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim) {
  if (!is_of_kind(volume, claim) || volume.meta.is_terminating()) return false;
  if (!volume.phase.empty() && volume.phase != "Available") return false;
  if (claim.selector && !claim.selector->matches(volume.meta.labels)) return false;
  return std::ranges::all_of(claim.access_modes, [&](const std::string& mode) {
    return std::ranges::find(volume.access_modes, mode) != volume.access_modes.end();
  });
}

/// Returns false if the CSI driver reports too little storage capacity reachable from the node. Returns true if no
/// capacities were listed, because nothing is known then.
bool has_storage_left(const ClusterSnapshot& cluster, const api::StorageClass& of, const api::Quantity& size,
                      const api::Node& node) {
  const api::CsiDriver* driver = cluster.find_csi_driver(of.provisioner);
  if (cluster.storage_capacities().empty() || driver == nullptr || !driver->tells_capacity || size == api::Quantity())
    return true;
  return std::ranges::any_of(cluster.storage_capacities(), [&](const auto& each) {
    return each->storage_class == of.meta.name && each->fits(size) && each->nodes &&
           each->nodes->matches(node.meta.labels);
  });
}

void add_attached(const ClusterSnapshot& cluster, PodIndex pod, std::vector<FitQuery::Attachment>& found) {
  const api::Pod& object = cluster.pod(pod);
  for (const api::Volume& volume : object.volumes) {
    if (!api::uses_claim(volume)) continue;
    const auto* bound = bound_volume(cluster, cluster.find_claim(object.meta.ns, volume.source));
    if (bound != nullptr && !bound->csi_driver.empty()) found.push_back({bound->csi_driver, bound->meta.name});
  }
}

/// Names of the volumes used by pods on the node in the snapshot. These are detached when the pods leave.
std::set<std::string_view> volumes_of_pods(const ClusterSnapshot& cluster, NodeIndex node) {
  std::vector<FitQuery::Attachment> found;
  for (const PodIndex pod : cluster.pods_on(node)) {
    if (cluster.is_active(pod)) add_attached(cluster, pod, found);
  }
  std::set<std::string_view> names;
  for (const FitQuery::Attachment& each : found) names.insert(each.volume);
  return names;
}

/// Volumes attached to the node that no pod on it uses: those of deleted pods, or attached by other software.
std::set<std::string_view> other_attachments(const ClusterSnapshot& cluster, NodeIndex node, std::string_view driver) {
  std::set<std::string_view> found;
  if (cluster.attachments_on(node).empty()) return found;
  const std::set<std::string_view> of_pods = volumes_of_pods(cluster, node);
  for (const api::VolumeAttachment* each : cluster.attachments_on(node)) {
    if (each->driver != driver || of_pods.contains(each->volume)) continue;
    found.insert(each->volume.empty() ? each->meta.name : each->volume);
  }
  return found;
}

/// Number of the driver's volumes attached to the node once the pod is there. Counts each volume yet to be provisioned.
std::int64_t count_attached(const FitQuery& query, NodeIndex node, std::string_view driver) {
  std::set<std::string_view> volumes = other_attachments(query.base(), node, driver);
  std::int64_t to_be_made = 0;
  const auto take = [&](const std::vector<FitQuery::Attachment>& attachments) {
    for (const FitQuery::Attachment& each : attachments) {
      if (each.driver != driver) continue;
      if (each.volume.empty()) ++to_be_made;
      if (!each.volume.empty()) volumes.insert(each.volume);
    }
  };
  take(query.attachments());
  std::vector<FitQuery::Attachment> there;
  query.cluster().for_each_on(node, [&](PodIndex other) {
    if (query.counts(other) && query.base().is_active(other)) add_attached(query.base(), other, there);
  });
  take(there);
  return static_cast<std::int64_t>(volumes.size()) + to_be_made;
}

}  // namespace

/// Collects attached volumes and unbound claims. The replacement of a pod with an ephemeral volume gets a new claim,
/// regardless of the state of the existing one.
void FitQuery::find_volumes() {
  for (const api::Volume& volume : pod().volumes) {
    if (!api::uses_claim(volume)) continue;
    const bool is_ephemeral = volume.kind == api::VolumeKind::kEphemeral;
    const auto* claim = base().find_claim(pod().meta.ns, volume.source);
    const auto* bound = is_ephemeral ? nullptr : bound_volume(base(), claim);
    if (bound != nullptr) {
      if (!bound->csi_driver.empty()) attachments_.push_back({bound->csi_driver, bound->meta.name});
    } else if (is_ephemeral || (claim != nullptr && claim->volume_name.empty())) {
      find_unbound(volume, is_ephemeral ? nullptr : claim);
    }
  }
}

/// `claim` is nullptr if it does not exist yet.
void FitQuery::find_unbound(const api::Volume& volume, const api::PersistentVolumeClaim* claim) {
  if (!base().has_storage_classes()) return;
  const auto* known = class_of(base(), claim != nullptr ? claim->storage_class : volume.storage_class);
  WaitingClaim waiting{volume.source, claim != nullptr, known, {}, {}};
  const auto* wanted = claim != nullptr ? claim : volume.claim_template.get();
  if (wanted != nullptr) {
    waiting.ready = base().volumes_kept_for({pod().meta.ns, volume.source}, claim != nullptr ? claim->meta.uid : "");
    std::erase_if(waiting.ready, [&](const auto* each) { return !is_of_kind(*each, *wanted); });
  }
  if (wanted != nullptr && waiting.ready.empty()) {
    std::ranges::copy_if(base().free_volumes(known != nullptr ? known->meta.name : wanted->storage_class),
                         std::back_inserter(waiting.ready),
                         [&](const auto* each) { return fits_claim(*each, *wanted); });
  }
  if (wanted != nullptr) waiting.size = wanted->request;
  if (known != nullptr && known->makes_volumes) attachments_.push_back({known->provisioner, ""});
  waiting_.push_back(std::move(waiting));
}

/// Refuses claims that are Lost or being deleted on every node, as the scheduler does.
std::optional<Refusal> refuse_volumes(const FitQuery& query, NodeIndex node) {
  for (const api::Volume& volume : query.pod().volumes) {
    if (volume.kind != api::VolumeKind::kPersistentVolumeClaim) continue;
    const auto* claim = query.base().find_claim(query.pod().meta.ns, volume.source);
    if (claim == nullptr)
      return Refusal{"ClaimNotFound", "the PersistentVolumeClaim {subject} does not exist", volume.source};
    switch (api::pvc_risk(*claim, query.pod())) {
      case api::PvcRisk::kNone: break;
      case api::PvcRisk::kBeingDeleted:
        return Refusal{"ClaimBeingDeleted", "the PersistentVolumeClaim {subject} is being deleted", volume.source};
      case api::PvcRisk::kLost:
        return Refusal{"ClaimLost", "the PersistentVolumeClaim {subject} is Lost", volume.source};
    }
    const auto* bound = bound_volume(query.base(), claim);
    if (bound == nullptr && !claim->volume_name.empty() && query.base().has_volumes())
      return Refusal{"VolumeNotFound", "the volume of PersistentVolumeClaim {subject} does not exist", volume.source};
    if (bound == nullptr || is_reachable(*bound, query.base().node(node))) continue;
    return Refusal{"VolumeNodeMismatch", "the volume of PersistentVolumeClaim {subject} is not reachable from the node",
                   volume.source};
  }
  return std::nullopt;
}

/// Follows kube-scheduler: a claim with immediate binding must already be bound. A claim that waits for its first
/// consumer takes an existing reachable volume, or gets one provisioned where its class allows.
std::optional<Refusal> refuse_unbound_claims(const FitQuery& query, NodeIndex node) {
  const api::Node& object = query.base().node(node);
  for (const FitQuery::WaitingClaim& claim : query.waiting_claims()) {
    const api::StorageClass* known = claim.storage_class;
    if (known == nullptr)
      return Refusal{"UnboundClaim",
                     "PersistentVolumeClaim {subject} is not bound, and its storage class does not exist", claim.name};
    if (!known->waits_for_pod) {
      if (!claim.exists) continue;
      return Refusal{"UnboundClaim", "PersistentVolumeClaim {subject} is not bound to a volume yet", claim.name};
    }
    if (std::ranges::any_of(claim.ready, [&](const auto* volume) { return is_reachable(*volume, object); })) continue;
    if (!known->makes_volumes)
      return Refusal{"NoVolumeForClaim",
                     "no free volume for PersistentVolumeClaim {subject} is reachable from the node", claim.name};
    const auto& topologies = known->allowed_topologies;
    if (!topologies.empty() &&
        std::ranges::none_of(topologies, [&](const auto& term) { return matches(term, object); }))
      return Refusal{"VolumeTopology",
                     "the storage class cannot provision a volume for PersistentVolumeClaim {subject} on that node",
                     claim.name};
    if (has_storage_left(query.base(), *known, claim.size, object)) continue;
    return Refusal{"NoStorageLeft",
                   "the driver has insufficient storage capacity for PersistentVolumeClaim {subject} on that node",
                   claim.name};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_attachments(const FitQuery& query, NodeIndex node) {
  const api::CsiNode* limits = query.base().find_csi_node(query.base().node(node).meta.name);
  if (limits == nullptr) return std::nullopt;
  for (const api::CsiNode::Driver& driver : limits->drivers) {
    const auto is_of_driver = [&](const FitQuery::Attachment& each) { return each.driver == driver.name; };
    if (!driver.max_volumes || std::ranges::none_of(query.attachments(), is_of_driver)) continue;
    const std::int64_t count = count_attached(query, node, driver.name);
    if (count <= *driver.max_volumes) continue;
    return Refusal{"TooManyVolumes",
                   "{wanted} volumes of {subject} would be attached, the maximum of the node is {available}",
                   driver.name, count, *driver.max_volumes};
  }
  return std::nullopt;
}

bool has_devices(const FitQuery& query) {
  return query.pod().makes_resource_claims || !query.pod().resource_claims.empty();
}

/// Only allocated devices can be checked, because only their driver knows which devices are free.
std::optional<Refusal> refuse_devices(const FitQuery& query, NodeIndex node) {
  const api::Pod& pod = query.pod();
  if (pod.makes_resource_claims)
    return Refusal{"DevicesUnknown",
                   "its replacement needs its own devices, and the location of free devices is unknown"};
  for (const std::string& name : pod.resource_claims) {
    const api::ResourceClaim* claim = query.base().find_resource_claim(pod.meta.ns, name);
    if (claim == nullptr || !claim->is_allocated)
      return Refusal{"DevicesUnknown", "the location of the devices of ResourceClaim {subject} is unknown", name};
    const api::Node& object = query.base().node(node);
    const auto is_here = [&](const api::NodeSelectorTerm& term) { return matches(term, object); };
    if (claim->node_terms.empty() || std::ranges::any_of(claim->node_terms, is_here)) continue;
    return Refusal{"DeviceNodeMismatch", "the devices of ResourceClaim {subject} are not reachable from the node",
                   name};
  }
  return std::nullopt;
}

}  // namespace scheduling
