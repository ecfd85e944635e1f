#pragma once

/// Amount of data that a live migration copies, by KubeVirt's rules. Internal to kubevirt*.cpp.

#include <cstdint>

#include "api/json/json.hpp"

namespace evictors::kubevirt {

/// Returns the bytes of the disks that move with the VM: volumes that KubeVirt migrates to another PVC and, with block
/// migration, ephemeral disks. KubeVirt measures ephemeral disks as files. Only their upper bounds are visible in the
/// VMI, and often nothing for the overlay of a container disk. Invalid values count as 0.
std::int64_t disks_to_copy(const api::Json& vmi);

}  // namespace evictors::kubevirt
