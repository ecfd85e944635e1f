#pragma once

/// The part of a pod in a virtual machine of KubeVirt, by its labels and annotations.

#include <string>

#include "api/core/kinds.hpp"

namespace api {

/// The pod is a virt-launcher: one machine runs in it.
bool is_launcher(const Pod& pod);

/// Name of the VirtualMachineInstance behind a launcher pod. Empty: the pod is no launcher, or does not say.
const std::string& machine_of(const Pod& pod);

/// The pod attaches hot-plugged disks to a machine. KubeVirt makes and removes it with the machine's launcher pod; its
/// eviction would take the disks away from a running guest.
bool is_hotplug_pod(const Pod& pod);

/// Data in the pod's emptyDir volumes is lost when the pod goes. False for a launcher pod: what it keeps there is
/// KubeVirt's own or travels with the live migration. The pod does not show whether the machine migrates.
bool loses_empty_dirs(const Pod& pod);

}  // namespace api
