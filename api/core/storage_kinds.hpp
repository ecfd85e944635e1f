#pragma once

/// Kinds of storage.k8s.io for attached volumes and available storage. The decoders are like those of
/// api/core/codec.hpp: lenient, never throw, thread-safe; but they read JSON only.

#include <optional>
#include <string>
#include <string_view>

#include "api/core/kinds.hpp"
#include "base/result.hpp"

namespace api {

/// A volume that a CSI driver attaches, has attached, or still has to detach.
struct VolumeAttachment {
  ObjectMeta meta;
  std::string driver;
  std::string node;
  std::string volume;  ///< name of the PersistentVolume; "" for an inline volume of a pod
};

/// Features of a CSI driver.
struct CsiDriver {
  ObjectMeta meta;              ///< its name is the driver's name
  bool tells_capacity = false;  ///< spec.storageCapacity: CSIStorageCapacities must be considered
};

/// Available storage of a CSI driver for one class on some nodes.
struct CsiStorageCapacity {
  ObjectMeta meta;
  std::string storage_class;
  std::optional<LabelSelector> nodes;  ///< nullopt = accessible from no node
  std::optional<Quantity> capacity;    ///< nullopt if unknown, which counts as insufficient
  std::optional<Quantity> largest;     ///< maximumVolumeSize; takes precedence over capacity

  /// Returns true if a volume of this size can be created.
  bool fits(const Quantity& size) const;
};

base::Result<VolumeAttachment> decode_volume_attachment(std::string_view json);
base::Result<CsiDriver> decode_csi_driver(std::string_view json);
base::Result<CsiStorageCapacity> decode_csi_storage_capacity(std::string_view json);

}  // namespace api
