/// Every lenient decoder on any text: no crash, and an object decodes the same way twice.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/core/codec.hpp"

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
  static_cast<void>(api::decode_pvc(text));
  static_cast<void>(api::decode_pv(text));
  static_cast<void>(api::decode_workload(text));
  return 0;
}
