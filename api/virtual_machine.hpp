#pragma once

/// Role of a pod in a KubeVirt virtual machine, by labels and annotations.

#include <string>

#include "api/core/kinds.hpp"

namespace api {

/// Returns true for a virt-launcher pod, which runs one machine.
bool is_launcher(const Pod& pod);

/// Returns the name of the VirtualMachineInstance of a launcher pod. Empty if the pod is not a launcher or lacks the
/// annotation.
const std::string& machine_of(const Pod& pod);

/// Returns true for a pod that attaches hot-plugged disks to a machine. KubeVirt creates and removes it with the
/// launcher pod of the machine; its eviction would detach disks from a running guest.
bool is_hotplug_pod(const Pod& pod);

/// Returns true if the pod has emptyDir volumes whose data would be lost. Returns false for a launcher pod, whose data
/// belongs to KubeVirt or is transferred by the live migration. The pod does not show whether the machine migrates.
bool loses_empty_dirs(const Pod& pod);

}  // namespace api
