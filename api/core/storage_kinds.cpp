#include "api/core/storage_kinds.hpp"
#include "api/core/codec_parts.hpp"

namespace api::wire {
namespace {

/// Reads a quantity as the server writes it, as text.
error_code read_amount(auto& value, std::optional<Quantity>& target) {
  std::string text;
  const error_code error = read(value, text);
  target = Quantity::parse(text);
  return error;
}

}  // namespace
}  // namespace api::wire

namespace api {

using wire::members;
using wire::on;

bool CsiStorageCapacity::fits(const Quantity& size) const {
  const std::optional<Quantity>& most = largest ? largest : capacity;
  return most && *most >= size;
}

base::Result<VolumeAttachment> decode_volume_attachment(std::string_view json) {
  return wire::decode_object<VolumeAttachment>(json, "a VolumeAttachment", {}, [](VolumeAttachment& decoded) {
    return members(on("spec", members(on("attacher", decoded.driver), on("nodeName", decoded.node),
                                      on("source", members(on("persistentVolumeName", decoded.volume))))));
  });
}

base::Result<CsiDriver> decode_csi_driver(std::string_view json) {
  return wire::decode_object<CsiDriver>(json, "a CSIDriver", {}, [](CsiDriver& decoded) {
    return members(on("spec", members(on("storageCapacity", decoded.tells_capacity))));
  });
}

base::Result<CsiStorageCapacity> decode_csi_storage_capacity(std::string_view json) {
  return wire::decode_object<CsiStorageCapacity>(json, "a CSIStorageCapacity", {}, [](CsiStorageCapacity& decoded) {
    return members(on("storageClassName", decoded.storage_class),
                   on("nodeTopology", [&](auto& nodes) { return wire::read_selector(nodes, decoded.nodes); }),
                   on("capacity", [&](auto& amount) { return wire::read_amount(amount, decoded.capacity); }),
                   on("maximumVolumeSize", [&](auto& amount) { return wire::read_amount(amount, decoded.largest); }));
  });
}

}  // namespace api
