#pragma once

#include "kube/resource.hpp"

namespace kube {

/// Storage kinds used by plans, in addition to those of kube/resource.hpp.
inline constexpr ResourceType kVolumeAttachments{"storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment",
                                                 false};
inline constexpr ResourceType kCsiDrivers{"storage.k8s.io", "v1", "csidrivers", "CSIDriver", false};
/// v1 since Kubernetes 1.24.
inline constexpr ResourceType kCsiStorageCapacities{"storage.k8s.io", "v1", "csistoragecapacities",
                                                    "CSIStorageCapacity"};

}  // namespace kube
