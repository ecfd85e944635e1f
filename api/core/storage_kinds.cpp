#include "api/core/storage_kinds.hpp"
#include "api/core/codec_parts.hpp"

namespace api::wire {
namespace {

/// Reads a quantity as the server writes it, as text.
template <typename V>
error_code read_amount(V& value, std::optional<Quantity>& target) {
  std::string text;
  const error_code error = read(value, text);
  target = Quantity::parse(text);
  return error;
}

template <typename V>
error_code read_attachment(V& value, VolumeAttachment& attachment) {
  return for_members(value, [&](std::string_view key, auto& member) {
    if (key == "attacher") return read(member, attachment.driver);
    if (key == "nodeName") return read(member, attachment.node);
    if (key != "source") return simdjson::SUCCESS;
    return for_members(member, [&](std::string_view part, auto& name) {
      return part == "persistentVolumeName" ? read(name, attachment.volume) : simdjson::SUCCESS;
    });
  });
}

}  // namespace
}  // namespace api::wire

namespace api {

bool CsiStorageCapacity::fits(const Quantity& size) const {
  const std::optional<Quantity>& most = largest ? largest : capacity;
  return most && *most >= size;
}

base::Result<VolumeAttachment> decode_volume_attachment(std::string_view json) {
  return wire::decode_object<VolumeAttachment>(
      json, "a VolumeAttachment", {}, [](std::string_view key, auto& value, VolumeAttachment& decoded) {
        return key == "spec" ? wire::read_attachment(value, decoded) : simdjson::SUCCESS;
      });
}

base::Result<CsiDriver> decode_csi_driver(std::string_view json) {
  return wire::decode_object<CsiDriver>(
      json, "a CSIDriver", {}, [](std::string_view key, auto& value, CsiDriver& decoded) {
        if (key != "spec") return simdjson::SUCCESS;
        return wire::for_members(value, [&](std::string_view part, auto& tells) {
          return part == "storageCapacity" ? wire::read(tells, decoded.tells_capacity) : simdjson::SUCCESS;
        });
      });
}

base::Result<CsiStorageCapacity> decode_csi_storage_capacity(std::string_view json) {
  return wire::decode_object<CsiStorageCapacity>(json, "a CSIStorageCapacity", {},
                                                 [](std::string_view key, auto& value, CsiStorageCapacity& decoded) {
                                                   if (key == "storageClassName")
                                                     return wire::read(value, decoded.storage_class);
                                                   if (key == "nodeTopology")
                                                     return wire::read_selector(value, decoded.nodes);
                                                   if (key == "capacity")
                                                     return wire::read_amount(value, decoded.capacity);
                                                   if (key == "maximumVolumeSize")
                                                     return wire::read_amount(value, decoded.largest);
                                                   return simdjson::SUCCESS;
                                                 });
}

}  // namespace api
