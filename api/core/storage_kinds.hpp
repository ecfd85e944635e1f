#pragma once

/// Kinds of storage.k8s.io that say which volumes are attached where, and how much storage is left. Decoders as in
/// api/core/codec.hpp: lenient, never throw, thread-safe; of JSON only.

#include <optional>
#include <string>
#include <string_view>

#include "api/core/kinds.hpp"
#include "base/result.hpp"

namespace api {

/// A volume that a CSI driver attaches to a node, has attached, or still has to detach.
struct VolumeAttachment {
  ObjectMeta meta;
  std::string driver;
  std::string node;
  std::string volume;  ///< name of the PersistentVolume; "": the volume of a pod that has none
};

/// What a CSI driver says of itself.
struct CsiDriver {
  ObjectMeta meta;              ///< the driver's name
  bool tells_capacity = false;  ///< spec.storageCapacity: its CSIStorageCapacities count
};

/// How much storage a CSI driver has left for one class on some nodes.
struct CsiStorageCapacity {
  ObjectMeta meta;
  std::string storage_class;
  std::optional<LabelSelector> nodes;  ///< absent: it is within reach of none
  std::optional<Quantity> capacity;    ///< absent: not known, so too little
  std::optional<Quantity> largest;     ///< maximumVolumeSize: then that counts instead

  /// A volume of that size can be made.
  bool suffices(const Quantity& size) const;
};

base::Result<VolumeAttachment> decode_volume_attachment(std::string_view json);
base::Result<CsiDriver> decode_csi_driver(std::string_view json);
base::Result<CsiStorageCapacity> decode_csi_storage_capacity(std::string_view json);

}  // namespace api
