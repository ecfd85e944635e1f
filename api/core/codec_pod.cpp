#include <algorithm>
#include <map>

#include "api/core/codec_parts.hpp"
#include "api/core/placement_hint.hpp"
#include "api/core/terms/pod_bounds.hpp"
#include "api/wire_names.hpp"

namespace api::wire {
namespace {

error_code read_port(auto& value, std::vector<HostPort>& target) {
  HostPort port;
  const error_code error =
      read_members(value, on("hostPort", port.port), on("hostIP", port.ip), on("protocol", port.protocol));
  if (port.port <= 0) return error;
  if (port.protocol.empty()) port.protocol = "TCP";
  target.push_back(std::move(port));
  return error;
}

error_code read_container(auto& value, std::vector<Container>& target, const char* field, UnreadFields& unread) {
  Container& container = target.emplace_back();
  std::string restart_policy;
  Unread strange;
  const error_code error =
      read_members(value, on("name", container.name), on("image", container.image),
                   on("resources",
                      [&](auto& resources) {
                        return read_requests_and_limits(resources, container.requests, container.limits, strange);
                      }),
                   on("restartPolicy", restart_policy),
                   on("ports", elements([&](auto& item) { return read_port(item, container.host_ports); })));
  container.restart_always = restart_policy == "Always";
  if (!strange.empty()) {
    add_unread(unread, std::move(strange),
               "spec." + std::string(field) + "[" + std::to_string(target.size() - 1) + "].resources.");
  }
  return error;
}

constexpr std::array kVolumeKinds = {WireName{VolumeKind::kPersistentVolumeClaim, "persistentVolumeClaim"},
                                     WireName{VolumeKind::kHostPath, "hostPath"},
                                     WireName{VolumeKind::kEmptyDir, "emptyDir"},
                                     WireName{VolumeKind::kSecret, "secret"},
                                     WireName{VolumeKind::kConfigMap, "configMap"},
                                     WireName{VolumeKind::kEphemeral, "ephemeral"}};

/// Returns a reader of {volumeClaimTemplate: {spec}}.
auto claim_template(Volume& volume) {
  return members(on("volumeClaimTemplate", members(on("spec", [&volume](auto& spec) {
                      PersistentVolumeClaim claim_spec;
                      const error_code error = read_pvc_spec(spec, claim_spec);
                      volume.storage_class = claim_spec.storage_class;
                      volume.claim_template = std::make_shared<const PersistentVolumeClaim>(std::move(claim_spec));
                      return error;
                    }))));
}

/// {name, resourceClaimName} or {name, resourceClaimTemplateName}
error_code read_pod_claims(auto& value, Pod& pod) {
  return for_elements(value, [&](auto& item) {
    pod.uses_resource_claims = true;
    std::string name;
    std::string made_by;
    const error_code error =
        read_members(item, on("resourceClaimName", name), on("resourceClaimTemplateName", made_by));
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
error_code read_volume(auto& value, std::vector<Volume>& target) {
  Volume& volume = target.emplace_back();
  std::string name;
  const error_code error = for_members(value, [&](std::string_view key, auto& member) {
    if (key == "name") return read(member, name);
    const auto kind = value_of(kVolumeKinds, key);
    bool is_null = false;
    if (!kind) return simdjson::SUCCESS;
    if (const error_code null_error = wire::is_null(member, is_null)) return unless_about_value(null_error);
    if (is_null) return simdjson::SUCCESS;
    volume.kind = *kind;
    if (*kind == VolumeKind::kEphemeral) return claim_template(volume)(member);
    if (*kind != VolumeKind::kPersistentVolumeClaim) return simdjson::SUCCESS;
    return read_members(member, on("claimName", volume.source));
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

error_code read_responder(auto& value, std::vector<PodResponder>& target) {
  PodResponder responder;
  const error_code error = read_members(value, on("name", responder.name), on("priority", responder.priority));
  if (!responder.name.empty()) target.push_back(std::move(responder));
  return error;
}

error_code read_scheduling_group(auto& value, Pod& pod) {
  return for_members(value, [&](std::string_view key, auto& member) {
    pod.has_scheduling_group = true;
    return key == "podGroupName" ? read(member, pod.scheduling_group.edit()) : simdjson::SUCCESS;
  });
}

error_code read_overhead(auto& value, Pod& pod) {
  Unread strange;
  const error_code error = read_resources(value, pod.overhead.edit(), strange, "spec.overhead");
  add_unread(pod.unread, std::move(strange), "");
  return error;
}

error_code read_pod_resources(auto& value, Pod& pod) {
  Unread strange;
  const error_code error = read_requests_and_limits(value, pod.pod_requests.edit(), pod.pod_limits.edit(), strange);
  add_unread(pod.unread, std::move(strange), "spec.resources.");
  return error;
}

auto pod_spec(Pod& pod) {
  return members(
      on("containers",
         elements([&](auto& item) { return read_container(item, pod.containers.edit(), "containers", pod.unread); })),
      on("initContainers", elements([&](auto& item) {
           return read_container(item, pod.init_containers.edit(), "initContainers", pod.unread);
         })),
      on("volumes", elements([&](auto& item) { return read_volume(item, pod.volumes.edit()); })),
      on("overhead", [&](auto& value) { return read_overhead(value, pod); }),
      on("resources", [&](auto& value) { return read_pod_resources(value, pod); }), on("hostNetwork", pod.host_network),
      on("resourceClaims", [&](auto& value) { return read_pod_claims(value, pod); }),
      on("restartPolicy", pod.restart_policy),
      on("terminationGracePeriodSeconds", pod.termination_grace_period_seconds), on("nodeName", pod.node_name.value),
      on("schedulerName", pod.scheduler_name), on("priority", pod.priority),
      on("priorityClassName", pod.priority_class_name),
      on("nodeSelector", [&](auto& map) { return read_map(map, false, pod.node_selector); }),
      on("affinity", [&](auto& value) { return read_affinity(value, pod.affinity); }),
      on("tolerations", elements([&](auto& item) { return read_toleration(item, pod.tolerations.edit()); })),
      on("topologySpreadConstraints",
         elements([&](auto& item) { return read_spread(item, pod.topology_spread.edit()); })),
      on("schedulingGates", [&](auto& value) { return read_non_empty(value, pod.has_scheduling_gates); }),
      on("schedulingGroup", [&](auto& value) { return read_scheduling_group(value, pod); }),
      on("evictionResponders",
         elements([&](auto& item) { return read_responder(item, pod.eviction_responders.edit()); })));
}

/// Returns a reader of {exitCode, reason, finishedAt}.
auto terminated(std::string& reason, std::optional<std::int32_t>& exit_code,
                std::optional<base::TimePoint>& finished_at) {
  return members(on("reason", reason), on("exitCode", exit_code), on("finishedAt", finished_at));
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
error_code read_held(std::string_view key, auto& member, std::optional<ResourceList>& target) {
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

error_code read_container_status(auto& value, ContainerStatus& status, std::optional<ResourceList>& held) {
  const auto held_as = [&held](std::string_view key) {
    return on(key, [&held, key](auto& amounts) { return read_held(key, amounts, held); });
  };
  return read_members(
      value, on("name", status.name), held_as("resources"), held_as("allocatedResources"),
      on("restartCount", status.restart_count), on("ready", status.ready),
      on("state", members(on("terminated", terminated(status.terminated_reason, status.exit_code, status.finished_at)),
                          on("waiting", members(on("reason", status.waiting_reason))))),
      on("lastState", members(on("terminated", terminated(status.last_terminated_reason, status.last_exit_code,
                                                          status.last_finished_at)))));
}

error_code read_container_statuses(auto& value, const ContainerStatus& like, std::vector<ContainerStatus>& target,
                                   HeldResources& held) {
  return for_elements(value, [&](auto& item) {
    ContainerStatus& status = target.emplace_back(like);
    std::optional<ResourceList> of_it;
    const error_code error = read_container_status(item, status, of_it);
    if (of_it) held.of_container.insert_or_assign(status.name, *std::move(of_it));
    return error;
  });
}

ContainerStatus main_status() { return {}; }

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

error_code read_pod_conditions(auto& value, std::vector<PodCondition>& target) {
  std::vector<Condition> conditions;
  const error_code error = read_conditions(value, conditions);
  target.reserve(target.size() + conditions.size());
  for (Condition& each : conditions) {
    target.push_back({std::move(each.type), each.status, std::move(each.reason), std::move(each.message),
                      each.observed_generation, each.last_transition_time});
  }
  return error;
}

error_code read_pod_status(auto& value, Pod& pod, HeldResources& held) {
  std::string phase;
  const auto statuses = [&](const char* key, ContainerStatus (*like)()) {
    return on(key, [&, like](auto& list) {
      return read_container_statuses(list, like(), pod.container_statuses.edit(), held);
    });
  };
  const auto held_as = [&](std::string_view key) {
    return on(key, [&, key](auto& amounts) { return read_held(key, amounts, held.of_pod); });
  };
  const error_code error = read_members(
      value, on("phase", phase), on("reason", pod.status_reason), on("qosClass", pod.qos_class),
      on("startTime", pod.start_time),
      on("conditions", [&](auto& list) { return read_pod_conditions(list, pod.conditions); }),
      statuses("containerStatuses", main_status), statuses("initContainerStatuses", init_status),
      statuses("ephemeralContainerStatuses", ephemeral_status), on("nominatedNodeName", pod.nominated_node.value),
      held_as("resources"), held_as("allocatedResources"));
  pod.phase = value_of(kPodPhaseNames, phase).value_or(PodPhase::kNone);
  sort_statuses(pod.container_statuses.edit());
  held.resize_infeasible = std::ranges::any_of(pod.conditions, is_infeasible_resize);
  return error;
}

}  // namespace

}  // namespace api::wire

namespace api {

base::Result<Pod> decode_pod(std::string_view bytes) {
  wire::HeldResources held;
  auto pod = wire::decode_object<Pod>(bytes, "a Pod", {"Pod"}, [&](Pod& decoded) {
    return wire::members(wire::on("spec", wire::pod_spec(decoded)),
                         wire::on("status", [&](auto& value) { return wire::read_pod_status(value, decoded, held); }));
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
