/// Any bytes as the protobuf of every kind, as an envelope and as a streamed list: no crash, an object decodes the same
/// way twice, and a list is independent of the sizes of its pieces.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/codec.hpp"
#include "api/core/protobuf/envelope.hpp"
#include "api/core/protobuf/list_splitter.hpp"

namespace {

using api::protobuf::seal;

struct Split {
  bool ok = true;
  bool complete = false;
  std::vector<std::string> envelopes;
};

Split split(std::string_view bytes, std::size_t size) {
  Split result;
  api::protobuf::ListSplitter splitter(1 << 16);
  for (std::size_t at = 0; at < bytes.size() && result.ok; at += size)
    result.ok = splitter.feed(bytes.substr(at, size), result.envelopes).ok();
  result.complete = splitter.is_complete();
  return result;
}

void decode_all(std::string_view body) {
  const auto pod = api::decode_pod(seal("v1", "Pod", body));
  const auto again = api::decode_pod(seal("v1", "Pod", body));
  if (pod.ok() != again.ok()) std::abort();
  if (pod && (pod->containers != again->containers || !(pod->meta == again->meta))) std::abort();
  const auto meta = api::decode_meta(seal("v1", "Pod", body));
  if (pod && (!meta || !(pod->meta == *meta))) std::abort();
  static_cast<void>(api::decode_node(seal("v1", "Node", body)));
  static_cast<void>(api::decode_pdb(seal("policy/v1", "PodDisruptionBudget", body)));
  static_cast<void>(api::decode_pvc(seal("v1", "PersistentVolumeClaim", body)));
  static_cast<void>(api::decode_pv(seal("v1", "PersistentVolume", body)));
  static_cast<void>(api::decode_storage_class(seal("storage.k8s.io/v1", "StorageClass", body)));
  static_cast<void>(api::decode_csi_node(seal("storage.k8s.io/v1", "CSINode", body)));
  static_cast<void>(api::decode_priority_class(seal("scheduling.k8s.io/v1", "PriorityClass", body)));
  for (const char* kind : {"ReplicaSet", "StatefulSet", "Job"})
    static_cast<void>(api::decode_workload(seal("apps/v1", kind, body)));
  static_cast<void>(api::protobuf::status_json(seal("v1", "Status", body)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  decode_all(bytes);
  if (const auto envelope = api::protobuf::open(bytes)) decode_all(envelope->body);
  const Split whole = split(bytes, std::max<std::size_t>(size, 1));
  const Split pieces = split(bytes, 3);
  // One piece may reveal a broken list earlier, but never give a different result.
  if (whole.ok && pieces.ok && (whole.complete != pieces.complete || whole.envelopes != pieces.envelopes)) std::abort();
  if (whole.ok != pieces.ok && whole.complete && pieces.complete) std::abort();
  return 0;
}
