/// Any text for every lenient decoder: no crash, and an object decodes the same way twice.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/core/codec.hpp"
#include "api/core/pvc_risk.hpp"

namespace {

/// PVCs, volumes, classes, CSI drivers and devices.
void check_storage(std::string_view text) {
  const auto claim = api::decode_pvc(text);
  if (claim) static_cast<void>(api::pvc_risk(*claim, api::Pod()));
  const auto volume = api::decode_pv(text);
  if (volume && volume->is_claimed == volume->claim.name.empty()) std::abort();
  const auto storage_class = api::decode_storage_class(text);
  const auto again = api::decode_storage_class(text);
  if (storage_class.ok() != again.ok()) std::abort();
  if (storage_class && storage_class->allowed_topologies != again->allowed_topologies) std::abort();
  const auto node = api::decode_csi_node(text);
  if (node && node->drivers != api::decode_csi_node(text)->drivers) std::abort();
  const auto devices = api::decode_resource_claim(text);
  if (devices && !devices->is_allocated && !devices->node_terms.empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto pod = api::decode_pod(text);
  const auto again = api::decode_pod(text);
  const auto meta = api::decode_meta(text);
  if (pod.ok() != again.ok()) std::abort();
  if (pod && (pod->containers != again->containers || !(pod->meta == again->meta))) std::abort();
  if (pod && meta && !(pod->meta == *meta)) std::abort();
  static_cast<void>(api::decode_node(text));
  static_cast<void>(api::decode_pdb(text));
  static_cast<void>(api::decode_pdb_v1beta1(text));
  static_cast<void>(api::decode_namespace(text));
  static_cast<void>(api::decode_priority_class(text));
  static_cast<void>(api::decode_workload(text));
  check_storage(text);
  return 0;
}
