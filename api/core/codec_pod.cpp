#include <algorithm>
#include <map>

#include "api/core/codec_parts.hpp"
#include "api/core/placement_hint.hpp"
#include "api/core/terms/pod_bounds.hpp"

namespace api::wire {
namespace {

template <typename V>
error_code read_port(V& value, std::vector<HostPort>& target) {
  HostPort port;
  const error_code error = for_members(value, [&](std::string_view key, auto& member) {
    if (key == "hostPort") return read(member, port.port);
    if (key == "hostIP") return read(member, port.ip);
    if (key == "protocol") return read(member, port.protocol);
    return simdjson::SUCCESS;
  });
  if (port.port <= 0) return error;
  if (port.protocol.empty()) port.protocol = "TCP";
  target.push_back(std::move(port));
  return error;
}

template <typename V>
error_code read_container(V& value, std::vector<Container>& target, const char* field, UnreadFields& unread) {
  Container& container = target.emplace_back();
  std::string restart_policy;
  Unread strange;
  const error_code error = for_members(value, [&](std::string_view key, auto& member) {
    if (key == "name") return read(member, container.name);
    if (key == "image") return read(member, container.image);
    if (key == "resources") return read_requests_and_limits(member, container.requests, container.limits, strange);
    if (key == "restartPolicy") return read(member, restart_policy);
    if (key == "ports") {
      return for_elements(member, [&](auto& item) { return read_port(item, container.host_ports); });
    }
    return simdjson::SUCCESS;
  });
  container.restart_always = restart_policy == "Always";
  if (!strange.empty()) {
    add_unread(unread, std::move(strange),
               "spec." + std::string(field) + "[" + std::to_string(target.size() - 1) + "].resources.");
  }
  return error;
}

std::optional<VolumeKind> volume_kind(std::string_view key) {
  if (key == "persistentVolumeClaim") return VolumeKind::kPersistentVolumeClaim;
  if (key == "hostPath") return VolumeKind::kHostPath;
  if (key == "emptyDir") return VolumeKind::kEmptyDir;
  if (key == "secret") return VolumeKind::kSecret;
  if (key == "configMap") return VolumeKind::kConfigMap;
  if (key == "ephemeral") return VolumeKind::kEphemeral;
  return std::nullopt;
}

/// {volumeClaimTemplate: {spec}}
template <typename V>
error_code read_claim_template(V& value, Volume& volume) {
  return for_members(value, [&](std::string_view key, auto& claim) {
    if (key != "volumeClaimTemplate") return simdjson::SUCCESS;
    return for_members(claim, [&](std::string_view part, auto& spec) {
      if (part != "spec") return simdjson::SUCCESS;
      PersistentVolumeClaim claim_spec;
      const error_code error = read_pvc_spec(spec, claim_spec);
      volume.storage_class = claim_spec.storage_class;
      volume.claim_template = std::make_shared<const PersistentVolumeClaim>(std::move(claim_spec));
      return error;
    });
  });
}

/// {name, resourceClaimName} or {name, resourceClaimTemplateName}
template <typename V>
error_code read_pod_claims(V& value, Pod& pod) {
  return for_elements(value, [&](auto& item) {
    pod.uses_resource_claims = true;
    std::string name;
    std::string made_by;
    const error_code error = for_members(item, [&](std::string_view key, auto& member) {
      if (key == "resourceClaimName") return read(member, name);
      if (key == "resourceClaimTemplateName") return read(member, made_by);
      return simdjson::SUCCESS;
    });
    if (!name.empty()) pod.resource_claims.edit().push_back(std::move(name));
    pod.makes_resource_claims = pod.makes_resource_claims || !made_by.empty();
    return error;
  });
}

/// Kinds of volumes whose names are kept. Names of token volumes differ from pod to pod and would prevent sharing of
/// volume lists.
bool may_be_local(VolumeKind kind) {
  using enum VolumeKind;
  return kind == kHostPath || kind == kEmptyDir || kind == kEphemeral || kind == kPersistentVolumeClaim;
}

/// Reads a volume. The source of an ephemeral volume is its own name until finish_volumes() adds the pod's name.
template <typename V>
error_code read_volume(V& value, std::vector<Volume>& target) {
  Volume& volume = target.emplace_back();
  std::string name;
  const error_code error = for_members(value, [&](std::string_view key, auto& member) {
    if (key == "name") return read(member, name);
    const auto kind = volume_kind(key);
    bool is_null = false;
    if (!kind) return simdjson::SUCCESS;
    if (const error_code null_error = wire::is_null(member, is_null)) return unless_about_value(null_error);
    if (is_null) return simdjson::SUCCESS;
    volume.kind = *kind;
    if (*kind == VolumeKind::kEphemeral) return read_claim_template(member, volume);
    if (*kind != VolumeKind::kPersistentVolumeClaim) return simdjson::SUCCESS;
    return for_members(member, [&](std::string_view part, auto& claim) {
      return part == "claimName" ? read(claim, volume.source) : simdjson::SUCCESS;
    });
  });
  if (volume.kind == VolumeKind::kEphemeral) volume.source = name;
  if (may_be_local(volume.kind)) volume.name = std::move(name);
  return error;
}

void finish_volumes(Pod& pod) {
  for (Volume& volume : pod.volumes.edit()) {
    if (volume.kind == VolumeKind::kEphemeral) volume.source = pod.meta.name + "-" + volume.source;
  }
}

template <typename V>
error_code read_responders(V& value, std::vector<PodResponder>& target) {
  return for_elements(value, [&](auto& item) {
    PodResponder responder;
    const error_code error = for_members(item, [&](std::string_view key, auto& member) {
      if (key == "name") return read(member, responder.name);
      if (key == "priority") return read(member, responder.priority);
      return simdjson::SUCCESS;
    });
    if (!responder.name.empty()) target.push_back(std::move(responder));
    return error;
  });
}

template <typename V>
error_code read_scheduling_group(V& value, Pod& pod) {
  return for_members(value, [&](std::string_view key, auto& member) {
    pod.has_scheduling_group = true;
    return key == "podGroupName" ? read(member, pod.scheduling_group.edit()) : simdjson::SUCCESS;
  });
}

template <typename V>
error_code read_placement(std::string_view key, V& member, Pod& pod) {
  if (key == "nodeName") return read(member, pod.node_name.value);
  if (key == "schedulerName") return read(member, pod.scheduler_name.edit());
  if (key == "priority") return read(member, pod.priority);
  if (key == "priorityClassName") return read(member, pod.priority_class_name.edit());
  if (key == "nodeSelector") return read_map(member, false, pod.node_selector);
  if (key == "affinity") return read_affinity(member, pod.affinity);
  if (key == "tolerations") {
    return for_elements(member, [&](auto& item) { return read_toleration(item, pod.tolerations.edit()); });
  }
  if (key == "topologySpreadConstraints") {
    return for_elements(member, [&](auto& item) { return read_spread(item, pod.topology_spread.edit()); });
  }
  if (key == "schedulingGates") return read_non_empty(member, pod.has_scheduling_gates);
  if (key == "schedulingGroup") return read_scheduling_group(member, pod);
  if (key == "evictionResponders") return read_responders(member, pod.eviction_responders.edit());
  return simdjson::SUCCESS;
}

template <typename V>
error_code read_pod_resources(std::string_view key, V& member, Pod& pod) {
  Unread strange;
  const error_code error =
      key == "overhead" ? read_resources(member, pod.overhead.edit(), strange, "spec.overhead")
                        : read_requests_and_limits(member, pod.pod_requests.edit(), pod.pod_limits.edit(), strange);
  add_unread(pod.unread, std::move(strange), key == "overhead" ? "" : "spec.resources.");
  return error;
}

template <typename V>
error_code read_pod_spec(V& value, Pod& pod) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "containers" || key == "initContainers") {
      const bool init = key == "initContainers";
      return for_elements(member, [&](auto& item) {
        return read_container(item, (init ? pod.init_containers : pod.containers).edit(),
                              init ? "initContainers" : "containers", pod.unread);
      });
    }
    if (key == "volumes") {
      return for_elements(member, [&](auto& item) { return read_volume(item, pod.volumes.edit()); });
    }
    if (key == "overhead" || key == "resources") return read_pod_resources(key, member, pod);
    if (key == "hostNetwork") return read(member, pod.host_network);
    if (key == "resourceClaims") return read_pod_claims(member, pod);
    if (key == "restartPolicy") return read(member, pod.restart_policy.edit());
    if (key == "terminationGracePeriodSeconds") return read(member, pod.termination_grace_period_seconds);
    return read_placement(key, member, pod);
  });
}

PodPhase pod_phase(std::string_view text) {
  if (text == "Pending") return PodPhase::kPending;
  if (text == "Running") return PodPhase::kRunning;
  if (text == "Succeeded") return PodPhase::kSucceeded;
  if (text == "Failed") return PodPhase::kFailed;
  return text == "Unknown" ? PodPhase::kUnknown : PodPhase::kNone;
}

/// {terminated: {exitCode, reason, finishedAt}}
template <typename V>
error_code read_terminated(V& value, std::string& reason, std::optional<std::int32_t>& exit_code,
                           std::optional<base::TimePoint>& finished_at) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "reason") return read(member, reason);
    if (key == "exitCode") return read(member, exit_code);
    if (key == "finishedAt") return read(member, finished_at);
    return simdjson::SUCCESS;
  });
}

template <typename V>
error_code read_container_state(V& value, ContainerStatus& status) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "terminated")
      return read_terminated(member, status.terminated_reason, status.exit_code, status.finished_at);
    if (key != "waiting") return simdjson::SUCCESS;
    return for_members(member, [&](std::string_view part, auto& detail) {
      return part == "reason" ? read(detail, status.waiting_reason) : simdjson::SUCCESS;
    });
  });
}

/// Resources that the containers, or the pod as a whole, hold according to their status.
struct HeldResources {
  std::map<std::string, ResourceList> of_container;  ///< by container name: maximum of resources and allocatedResources
  std::optional<ResourceList> of_pod;
  bool resize_infeasible = false;  ///< the resize requested by the spec is infeasible
};

/// Raises each resource to at least the amount in `least`. Both lists must be sorted by name.
void raise_to(ResourceList& resources, const ResourceList& least) {
  ResourceList raised;
  raised.reserve(resources.size() + least.size());
  auto at = resources.begin();
  for (const auto& [name, quantity] : least) {
    for (; at != resources.end() && at->first < name; ++at) raised.push_back(std::move(*at));
    if (at != resources.end() && at->first == name) {
      raised.emplace_back(name, std::max(at++->second, quantity));
    } else if (Quantity() < quantity) {
      raised.emplace_back(name, quantity);
    }
  }
  std::move(at, resources.end(), std::back_inserter(raised));
  resources = std::move(raised);
}

/// Reads `resources` (its requests) or `allocatedResources`.
template <typename V>
error_code read_held(std::string_view key, V& member, std::optional<ResourceList>& target) {
  ResourceList requests;
  ResourceList limits;
  Unread unread;  // unreadable amounts count as not held
  const error_code error = key == "resources" ? read_requests_and_limits(member, requests, limits, unread)
                                              : read_resources(member, requests, unread, "");
  if (requests.empty()) return error;
  if (!target) target.emplace();
  raise_to(*target, requests);
  return error;
}

/// Returns the resources held on the node: the maximum of requested and held amounts, or with `resize_infeasible` the
/// held amounts where known. Returns nullptr if they equal the requests.
std::shared_ptr<const ResourceList> held_resources(const ResourceList& requests, const ResourceList& held,
                                                   bool resize_infeasible) {
  ResourceList all = resize_infeasible ? ResourceList() : requests;
  raise_to(all, held);
  if (resize_infeasible) {  // resources that cannot be resized are missing in the status
    const auto is_before = [](const auto& a, const auto& b) { return a.first < b.first; };
    ResourceList rest;
    std::ranges::set_difference(requests, held, std::back_inserter(rest), is_before);
    raise_to(all, rest);
  }
  return all == requests ? nullptr : std::make_shared<const ResourceList>(std::move(all));
}

void apply_held(Pod& pod, const HeldResources& held) {
  if (held.of_container.empty() && !held.of_pod) return;
  const auto settle = [&](SharedList<Container>& containers) {
    for (Container& each : containers) {
      const auto at = held.of_container.find(each.name);
      if (at != held.of_container.end()) each.held = held_resources(each.requests, at->second, held.resize_infeasible);
    }
  };
  settle(pod.containers);
  settle(pod.init_containers);
  if (held.of_pod && !pod.pod_requests.empty())
    pod.held_pod_requests = held_resources(pod.pod_requests, *held.of_pod, held.resize_infeasible);
}

bool is_infeasible_resize(const PodCondition& condition) {
  return condition.type == "PodResizePending" && condition.status == ConditionStatus::kTrue &&
         condition.reason == "Infeasible";
}

template <typename V>
error_code read_container_status(V& value, ContainerStatus& status, std::optional<ResourceList>& held) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "name") return read(member, status.name);
    if (key == "resources" || key == "allocatedResources") return read_held(key, member, held);
    if (key == "restartCount") return read(member, status.restart_count);
    if (key == "ready") return read(member, status.ready);
    if (key == "state") return read_container_state(member, status);
    if (key != "lastState") return simdjson::SUCCESS;
    return for_members(member, [&](std::string_view part, auto& last) {
      if (part != "terminated") return simdjson::SUCCESS;
      return read_terminated(last, status.last_terminated_reason, status.last_exit_code, status.last_finished_at);
    });
  });
}

template <typename V>
error_code read_container_statuses(V& value, ContainerStatus like, std::vector<ContainerStatus>& target,
                                   HeldResources& held) {
  return for_elements(value, [&](auto& item) {
    ContainerStatus& status = target.emplace_back(like);
    std::optional<ResourceList> of_it;
    const error_code error = read_container_status(item, status, of_it);
    if (of_it) held.of_container.insert_or_assign(status.name, *std::move(of_it));
    return error;
  });
}

ContainerStatus init_status() {
  ContainerStatus status;
  status.is_init = true;
  return status;
}

ContainerStatus ephemeral_status() {
  ContainerStatus status;
  status.is_ephemeral = true;
  return status;
}

/// Puts statuses of init containers first, as in a server's JSON. Protobuf has them last.
void sort_statuses(std::vector<ContainerStatus>& statuses) {
  std::ranges::stable_sort(statuses, {}, [](const ContainerStatus& status) {
    return status.is_init ? 0 : status.is_ephemeral ? 2 : 1;
  });
}

template <typename V>
error_code read_pod_conditions(V& value, std::vector<PodCondition>& target) {
  std::vector<Condition> conditions;
  const error_code error = read_conditions(value, conditions);
  target.reserve(target.size() + conditions.size());
  for (Condition& each : conditions) {
    target.push_back({std::move(each.type), each.status, std::move(each.reason), std::move(each.message),
                      each.observed_generation, each.last_transition_time});
  }
  return error;
}

template <typename V>
error_code read_pod_status(V& value, Pod& pod, HeldResources& held) {
  std::string phase;
  const error_code error = for_members(value, [&](std::string_view key, auto& member) {
    if (key == "phase") return read(member, phase);
    if (key == "reason") return read(member, pod.status_reason.edit());
    if (key == "qosClass") return read(member, pod.qos_class.edit());
    if (key == "startTime") return read(member, pod.start_time);
    if (key == "conditions") return read_pod_conditions(member, pod.conditions);
    if (key == "containerStatuses") return read_container_statuses(member, {}, pod.container_statuses.edit(), held);
    if (key == "initContainerStatuses")
      return read_container_statuses(member, init_status(), pod.container_statuses.edit(), held);
    if (key == "ephemeralContainerStatuses") {
      return read_container_statuses(member, ephemeral_status(), pod.container_statuses.edit(), held);
    }
    if (key == "nominatedNodeName") return read(member, pod.nominated_node.value);
    if (key == "resources" || key == "allocatedResources") return read_held(key, member, held.of_pod);
    return simdjson::SUCCESS;
  });
  pod.phase = pod_phase(phase);
  sort_statuses(pod.container_statuses.edit());
  held.resize_infeasible = std::ranges::any_of(pod.conditions, is_infeasible_resize);
  return error;
}

}  // namespace

}  // namespace api::wire

namespace api {

base::Result<Pod> decode_pod(std::string_view bytes) {
  wire::HeldResources held;
  auto pod = wire::decode_object<Pod>(bytes, "a Pod", {"Pod"}, [&](std::string_view key, auto& value, Pod& decoded) {
    if (key == "spec") return wire::read_pod_spec(value, decoded);
    if (key == "status") return wire::read_pod_status(value, decoded, held);
    return simdjson::SUCCESS;
  });
  if (!pod) return pod;
  wire::finish_volumes(*pod);
  wire::apply_held(*pod, held);
  if (!pod->node_name.empty()) pod->nominated_node = {};
  remove_placement_hint(*pod);
  limit_lists(*pod);
  pod->share_parts();
  return pod;
}

}  // namespace api
