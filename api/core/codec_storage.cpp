/// Decoders of claims, volumes, storage classes, drivers and devices.

#include <algorithm>

#include "api/core/codec_parts.hpp"
#include "api/core/pvc_risk.hpp"

namespace api::wire {
namespace {

/// Reads `storage` from a list of resources.
template <typename V>
error_code read_storage(V& value, Quantity& target) {
  ResourceList amounts;
  Unread unread;  // a volume of unknown size satisfies no claim
  const error_code error = read_resources(value, amounts, unread, "");
  target = amount_of(amounts, "storage");
  return error;
}

/// Reads volumeMode, default Filesystem.
template <typename V>
error_code read_is_block(V& value, bool& target) {
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
template <typename V>
error_code read_migrated(std::string_view key, V& member, std::string& driver) {
  const auto plugin = std::ranges::find(kMigratedPlugins, key, &std::pair<std::string_view, std::string_view>::first);
  if (plugin == std::end(kMigratedPlugins)) return simdjson::SUCCESS;
  bool is_there = false;
  const error_code error = read_non_empty(member, is_there);
  if (is_there) driver = plugin->second;
  return error;
}

template <typename V>
error_code read_claim_ref(V& value, PersistentVolume& pv) {
  const error_code error = for_members(value, [&](std::string_view key, auto& member) {
    if (key == "namespace") return read(member, pv.claim.ns);
    if (key == "name") return read(member, pv.claim.name);
    if (key == "uid") return read(member, pv.claim_uid);
    return simdjson::SUCCESS;
  });
  pv.is_claimed = !pv.claim.name.empty();
  return error;
}

/// Maximum number of access modes kept per object; they are compared with those of each free volume. Kubernetes defines
/// four.
constexpr std::size_t kMaxAccessModes = 8;

template <typename V>
error_code read_access_modes(V& value, std::vector<std::string>& modes) {
  std::vector<std::string> all;
  const error_code error = read(value, all);
  for (std::string& mode : all) {
    if (modes.size() == kMaxAccessModes) break;
    if (std::ranges::find(modes, mode) == modes.end()) modes.push_back(std::move(mode));
  }
  return error;
}

}  // namespace

template <typename V>
error_code read_pvc_spec(V& value, PersistentVolumeClaim& pvc) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "volumeName") return read(member, pvc.volume_name);
    if (key == "storageClassName") return read(member, pvc.storage_class);
    if (key == "volumeMode") return read_is_block(member, pvc.wants_block);
    if (key == "volumeAttributesClassName") return read(member, pvc.attributes_class);
    if (key == "selector") return read_selector(member, pvc.selector);
    if (key == "accessModes") return read_access_modes(member, pvc.access_modes);
    if (key != "resources") return simdjson::SUCCESS;
    return for_members(member, [&](std::string_view part, auto& amounts) {
      return part == "requests" ? read_storage(amounts, pvc.request) : simdjson::SUCCESS;
    });
  });
}

template error_code read_pvc_spec(Value&, PersistentVolumeClaim&);
template error_code read_pvc_spec(ProtoValue&, PersistentVolumeClaim&);

namespace {

template <typename V>
error_code read_pv_spec(V& value, PersistentVolume& pv) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "local" || key == "hostPath") return read_non_empty(member, pv.is_local);
    if (key == "claimRef") return read_claim_ref(member, pv);
    if (key == "volumeMode") return read_is_block(member, pv.is_block);
    if (key == "volumeAttributesClassName") return read(member, pv.attributes_class);
    if (key == "storageClassName") return read(member, pv.storage_class);
    if (key == "capacity") return read_storage(member, pv.capacity);
    if (key == "accessModes") return read_access_modes(member, pv.access_modes);
    if (key == "csi") {
      return for_members(member, [&](std::string_view part, auto& driver) {
        return part == "driver" ? read(driver, pv.csi_driver) : simdjson::SUCCESS;
      });
    }
    if (key != "nodeAffinity") return read_migrated(key, member, pv.csi_driver);
    return for_members(member, [&](std::string_view part, auto& required) {
      return part == "required" ? read_node_selector(required, pv.required_node_terms) : simdjson::SUCCESS;
    });
  });
}

/// {matchLabelExpressions: [{key, values}]}; each key must have one of its values.
template <typename V>
error_code read_topology_term(V& value, NodeSelectorTerm& term) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key != "matchLabelExpressions") return simdjson::SUCCESS;
    return for_elements(member, [&](auto& item) {
      SelectorRequirement& requirement = term.match_expressions.emplace_back();
      requirement.op = SelectorOperator::kIn;
      return for_members(item, [&](std::string_view part, auto& text) {
        if (part == "key") return read(text, requirement.key);
        if (part == "values") return read(text, requirement.values);
        return simdjson::SUCCESS;
      });
    });
  });
}

template <typename V>
error_code read_csi_driver(V& value, CsiNode::Driver& driver) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "name") return read(member, driver.name);
    if (key != "allocatable") return simdjson::SUCCESS;
    return for_members(member, [&](std::string_view part, auto& count) {
      return part == "count" ? read(count, driver.max_volumes) : simdjson::SUCCESS;
    });
  });
}

template <typename V>
error_code read_allocation(V& value, ResourceClaim& claim) {
  if (const error_code error = is_object(value, claim.is_allocated)) return unless_about_value(error);
  return for_members(value, [&](std::string_view key, auto& member) {
    return key == "nodeSelector" ? read_node_selector(member, claim.node_terms) : simdjson::SUCCESS;
  });
}

/// v1alpha3 has an object with the member "all" or "single", v1alpha2 has the text "PodGroup" or "Pod".
template <typename V>
error_code read_disruption_mode(V& value, bool& is_whole) {
  std::string text;
  if (const error_code error = read(value, text)) return error;
  is_whole = text == "PodGroup" || text == "All";
  if (!text.empty()) return simdjson::SUCCESS;
  return for_members(value, [&](std::string_view key, auto& member) {
    return key == "all" ? unless_about_value(is_object(member, is_whole)) : simdjson::SUCCESS;
  });
}

}  // namespace

}  // namespace api::wire

namespace api {

base::Result<PersistentVolumeClaim> decode_pvc(std::string_view bytes) {
  std::string phase;
  auto decoded = wire::decode_object<PersistentVolumeClaim>(
      bytes, "a PersistentVolumeClaim", {"PersistentVolumeClaim"},
      [&](std::string_view key, auto& value, PersistentVolumeClaim& claim) {
        if (key == "spec") return wire::read_pvc_spec(value, claim);
        if (key != "status") return simdjson::SUCCESS;
        return wire::for_members(value, [&](std::string_view part, auto& text) {
          return part == "phase" ? wire::read(text, phase) : simdjson::SUCCESS;
        });
      });
  if (decoded && phase == "Lost") decoded->volume_name = kLostVolume;
  return decoded;
}

base::Result<PersistentVolume> decode_pv(std::string_view bytes) {
  return wire::decode_object<PersistentVolume>(
      bytes, "a PersistentVolume", {"PersistentVolume"},
      [](std::string_view key, auto& value, PersistentVolume& decoded) {
        if (key == "spec") return wire::read_pv_spec(value, decoded);
        if (key != "status") return simdjson::SUCCESS;
        return wire::for_members(value, [&](std::string_view part, auto& text) {
          return part == "phase" ? wire::read(text, decoded.phase) : simdjson::SUCCESS;
        });
      });
}

base::Result<StorageClass> decode_storage_class(std::string_view bytes) {
  std::string mode;
  auto decoded = wire::decode_object<StorageClass>(
      bytes, "a StorageClass", {"StorageClass"}, [&](std::string_view key, auto& value, StorageClass& read) {
        if (key == "provisioner") return wire::read(value, read.provisioner);
        if (key == "volumeBindingMode") return wire::read(value, mode);
        if (key != "allowedTopologies") return simdjson::SUCCESS;
        return wire::for_elements(
            value, [&](auto& item) { return wire::read_topology_term(item, read.allowed_topologies.emplace_back()); });
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
  return wire::decode_object<CsiNode>(
      bytes, "a CSINode", {"CSINode"}, [](std::string_view key, auto& value, CsiNode& decoded) {
        if (key != "spec") return simdjson::SUCCESS;
        return wire::for_members(value, [&](std::string_view part, auto& drivers) {
          if (part != "drivers") return simdjson::SUCCESS;
          return wire::for_elements(
              drivers, [&](auto& item) { return wire::read_csi_driver(item, decoded.drivers.emplace_back()); });
        });
      });
}

base::Result<ResourceClaim> decode_resource_claim(std::string_view json) {
  return wire::decode_object<ResourceClaim>(
      json, "a ResourceClaim", {}, [](std::string_view key, auto& value, ResourceClaim& decoded) {
        if (key != "status") return simdjson::SUCCESS;
        return wire::for_members(value, [&](std::string_view part, auto& allocation) {
          if (part != "allocation") return simdjson::SUCCESS;
          return wire::read_allocation(allocation, decoded);
        });
      });
}

base::Result<SchedulingPodGroup> decode_scheduling_pod_group(std::string_view json) {
  return wire::decode_object<SchedulingPodGroup>(
      json, "a PodGroup", {}, [](std::string_view key, auto& value, SchedulingPodGroup& decoded) {
        if (key != "spec") return simdjson::SUCCESS;
        return wire::for_members(value, [&](std::string_view part, auto& mode) {
          return part == "disruptionMode" ? wire::read_disruption_mode(mode, decoded.is_disrupted_whole)
                                          : simdjson::SUCCESS;
        });
      });
}

}  // namespace api
