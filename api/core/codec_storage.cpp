/// Decoders of claims, volumes, storage classes, drivers and devices.

#include <algorithm>

#include "api/core/codec_parts.hpp"
#include "api/core/pvc_risk.hpp"

namespace api::wire {
namespace {

/// Reads `storage` from a list of resources.
error_code read_storage(auto& value, Quantity& target) {
  ResourceList amounts;
  Unread unread;  // a volume of unknown size satisfies no claim
  const error_code error = read_resources(value, amounts, unread, "");
  target = amount_of(amounts, "storage");
  return error;
}

/// Reads volumeMode, default Filesystem.
error_code read_is_block(auto& value, bool& target) {
  std::string mode;
  const error_code error = read(value, mode);
  target = mode == "Block";
  return error;
}

/// In-tree volume plugins that were migrated to CSI, with their drivers.
constexpr std::pair<std::string_view, std::string_view> kMigratedPlugins[] = {
    {"awsElasticBlockStore", "ebs.csi.aws.com"},
    {"azureDisk", "disk.csi.azure.com"},
    {"azureFile", "file.csi.azure.com"},
    {"cinder", "cinder.csi.openstack.org"},
    {"gcePersistentDisk", "pd.csi.storage.gke.io"},
    {"portworxVolume", "pxd.portworx.com"},
    {"vsphereVolume", "csi.vsphere.vmware.com"},
};

/// Sets `driver` if the volume uses a migrated plugin.
error_code read_migrated(std::string_view key, auto& member, std::string& driver) {
  const auto plugin = std::ranges::find(kMigratedPlugins, key, &std::pair<std::string_view, std::string_view>::first);
  if (plugin == std::end(kMigratedPlugins)) return simdjson::SUCCESS;
  bool is_there = false;
  const error_code error = read_non_empty(member, is_there);
  if (is_there) driver = plugin->second;
  return error;
}

error_code read_claim_ref(auto& value, PersistentVolume& pv) {
  const error_code error =
      read_members(value, on("namespace", pv.claim.ns), on("name", pv.claim.name), on("uid", pv.claim_uid));
  pv.is_claimed = !pv.claim.name.empty();
  return error;
}

/// Maximum number of access modes kept per object; they are compared with those of each free volume. Kubernetes defines
/// four.
constexpr std::size_t kMaxAccessModes = 8;

error_code read_access_modes(auto& value, std::vector<std::string>& modes) {
  std::vector<std::string> all;
  const error_code error = read(value, all);
  for (std::string& mode : all) {
    if (modes.size() == kMaxAccessModes) break;
    if (std::ranges::find(modes, mode) == modes.end()) modes.push_back(std::move(mode));
  }
  return error;
}

}  // namespace

error_code read_pvc_spec(auto& value, PersistentVolumeClaim& pvc) {
  return read_members(
      value, on("volumeName", pvc.volume_name), on("storageClassName", pvc.storage_class),
      on("volumeMode", [&](auto& mode) { return read_is_block(mode, pvc.wants_block); }),
      on("volumeAttributesClassName", pvc.attributes_class),
      on("selector", [&](auto& selector) { return read_selector(selector, pvc.selector); }),
      on("accessModes", [&](auto& modes) { return read_access_modes(modes, pvc.access_modes); }),
      on("resources", members(on("requests", [&](auto& amounts) { return read_storage(amounts, pvc.request); }))));
}

template error_code read_pvc_spec(Value&, PersistentVolumeClaim&);
template error_code read_pvc_spec(ProtoValue&, PersistentVolumeClaim&);

namespace {

error_code read_pv_spec(auto& value, PersistentVolume& pv) {
  const auto read_local = [&](auto& block) { return read_non_empty(block, pv.is_local); };
  const auto spec = members(
      on("local", read_local), on("hostPath", read_local),
      on("claimRef", [&](auto& claim) { return read_claim_ref(claim, pv); }),
      on("volumeMode", [&](auto& mode) { return read_is_block(mode, pv.is_block); }),
      on("volumeAttributesClassName", pv.attributes_class), on("storageClassName", pv.storage_class),
      on("capacity", [&](auto& amounts) { return read_storage(amounts, pv.capacity); }),
      on("accessModes", [&](auto& modes) { return read_access_modes(modes, pv.access_modes); }),
      on("csi", members(on("driver", pv.csi_driver))),
      on("nodeAffinity",
         members(on("required", [&](auto& terms) { return read_node_selector(terms, pv.required_node_terms); }))));
  return for_members(value, [&](std::string_view key, auto& member) {
    const error_code error = read_migrated(key, member, pv.csi_driver);
    return error ? error : spec.read_member(key, member);
  });
}

/// Adds {matchLabelExpressions: [{key, values}]}; each key must have one of its values.
error_code add_topology_term(auto& value, std::vector<NodeSelectorTerm>& terms) {
  NodeSelectorTerm& term = terms.emplace_back();
  return read_members(value, on("matchLabelExpressions", elements([&](auto& item) {
                                  SelectorRequirement& requirement = term.match_expressions.emplace_back();
                                  requirement.op = SelectorOperator::kIn;
                                  return read_members(item, on("key", requirement.key),
                                                      on("values", requirement.values));
                                })));
}

error_code add_csi_driver(auto& value, std::vector<CsiNode::Driver>& drivers) {
  CsiNode::Driver& driver = drivers.emplace_back();
  return read_members(value, on("name", driver.name), on("allocatable", members(on("count", driver.max_volumes))));
}

error_code read_allocation(auto& value, ResourceClaim& claim) {
  if (const error_code error = is_object(value, claim.is_allocated)) return unless_about_value(error);
  return read_members(value,
                      on("nodeSelector", [&](auto& terms) { return read_node_selector(terms, claim.node_terms); }));
}

/// v1alpha3 has an object with the member "all" or "single", v1alpha2 has the text "PodGroup" or "Pod".
error_code read_disruption_mode(auto& value, bool& is_whole) {
  std::string text;
  if (const error_code error = read(value, text)) return error;
  is_whole = text == "PodGroup" || text == "All";
  if (!text.empty()) return simdjson::SUCCESS;
  return read_members(value, on("all", [&](auto& all) { return unless_about_value(is_object(all, is_whole)); }));
}

}  // namespace

}  // namespace api::wire

namespace api {

using wire::elements;
using wire::members;
using wire::on;

base::Result<PersistentVolumeClaim> decode_pvc(std::string_view bytes) {
  std::string phase;
  auto decoded = wire::decode_object<PersistentVolumeClaim>(
      bytes, "a PersistentVolumeClaim", {"PersistentVolumeClaim"}, [&](PersistentVolumeClaim& claim) {
        return members(on("spec", [&](auto& spec) { return wire::read_pvc_spec(spec, claim); }),
                       on("status", members(on("phase", phase))));
      });
  if (decoded && phase == "Lost") decoded->volume_name = kLostVolume;
  return decoded;
}

base::Result<PersistentVolume> decode_pv(std::string_view bytes) {
  return wire::decode_object<PersistentVolume>(
      bytes, "a PersistentVolume", {"PersistentVolume"}, [](PersistentVolume& decoded) {
        return members(on("spec", [&](auto& spec) { return wire::read_pv_spec(spec, decoded); }),
                       on("status", members(on("phase", decoded.phase))));
      });
}

base::Result<StorageClass> decode_storage_class(std::string_view bytes) {
  std::string mode;
  auto decoded = wire::decode_object<StorageClass>(bytes, "a StorageClass", {"StorageClass"}, [&](StorageClass& read) {
    return members(on("provisioner", read.provisioner), on("volumeBindingMode", mode),
                   on("allowedTopologies",
                      elements([&](auto& item) { return wire::add_topology_term(item, read.allowed_topologies); })));
  });
  if (!decoded) return decoded;
  decoded->waits_for_pod = mode == "WaitForFirstConsumer";
  decoded->makes_volumes = decoded->provisioner != "kubernetes.io/no-provisioner";
  for (const char* name :
       {"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"})
    decoded->is_default = decoded->is_default || decoded->meta.annotations.value(name) == "true";
  return decoded;
}

base::Result<CsiNode> decode_csi_node(std::string_view bytes) {
  return wire::decode_object<CsiNode>(bytes, "a CSINode", {"CSINode"}, [](CsiNode& decoded) {
    const auto add_driver = [&](auto& item) { return wire::add_csi_driver(item, decoded.drivers); };
    return members(on("spec", members(on("drivers", elements(add_driver)))));
  });
}

base::Result<ResourceClaim> decode_resource_claim(std::string_view json) {
  return wire::decode_object<ResourceClaim>(json, "a ResourceClaim", {}, [](ResourceClaim& decoded) {
    const auto read_allocation = [&](auto& allocation) { return wire::read_allocation(allocation, decoded); };
    return members(on("status", members(on("allocation", read_allocation))));
  });
}

base::Result<SchedulingPodGroup> decode_scheduling_pod_group(std::string_view json) {
  return wire::decode_object<SchedulingPodGroup>(json, "a PodGroup", {}, [](SchedulingPodGroup& decoded) {
    const auto read_mode = [&](auto& mode) { return wire::read_disruption_mode(mode, decoded.is_disrupted_whole); };
    return members(on("spec", members(on("disruptionMode", read_mode))));
  });
}

}  // namespace api
