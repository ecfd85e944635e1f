#pragma once

#include "kube/resource.hpp"

namespace kube {

inline constexpr ResourceType kVmis{"kubevirt.io", "v1", "virtualmachineinstances", "VirtualMachineInstance"};
inline constexpr ResourceType kVms{"kubevirt.io", "v1", "virtualmachines", "VirtualMachine"};
inline constexpr ResourceType kVmims{"kubevirt.io", "v1", "virtualmachineinstancemigrations",
                                     "VirtualMachineInstanceMigration"};
inline constexpr ResourceType kKubeVirts{"kubevirt.io", "v1", "kubevirts", "KubeVirt"};

}  // namespace kube
