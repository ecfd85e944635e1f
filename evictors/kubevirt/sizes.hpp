#pragma once

/// How much a live migration copies, as KubeVirt counts it. Internal to kubevirt*.cpp.

#include <cstdint>

#include "api/json/json.hpp"

namespace evictors::kubevirt {

/// Bytes of the disks that travel with the VM: all that KubeVirt migrates to another claim, and, when it migrates by
/// blocks, the ephemeral ones. KubeVirt measures those as files; from outside only their upper bounds are seen, and of
/// a container disk's overlay often nothing. Nonsense counts as 0.
std::int64_t disks_to_copy(const api::Json& vmi);

}  // namespace evictors::kubevirt
