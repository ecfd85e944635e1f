#pragma once

/// Lenient decoders from JSON text (simdjson) to the compact kinds of api/core/kinds.hpp. A wrong type counts as
/// absent; only text that is no JSON object is an error. Never throws, never crashes on hostile input. Thread-safe (one
/// parser per thread inside). All but decode_resource_claim() and
/// decode_scheduling_pod_group() take a protobuf envelope as well, and then of their own
/// kind only (api/core/protobuf/envelope.hpp); decode_workload() those of ReplicaSets, StatefulSets and Jobs.

#include <functional>
#include <string>
#include <string_view>

#include "api/core/kinds.hpp"
#include "base/result.hpp"

namespace api {

base::Result<Pod> decode_pod(std::string_view json);
base::Result<Node> decode_node(std::string_view json);
/// Tells policy/v1beta1 by the object's own apiVersion. Items of a List answer carry none: decode those of a v1beta1
/// list with the second.
base::Result<PodDisruptionBudget> decode_pdb(std::string_view json);
base::Result<PodDisruptionBudget> decode_pdb_v1beta1(std::string_view json);
base::Result<Namespace> decode_namespace(std::string_view json);
base::Result<PriorityClass> decode_priority_class(std::string_view json);
base::Result<PersistentVolumeClaim> decode_pvc(std::string_view json);
base::Result<PersistentVolume> decode_pv(std::string_view json);
base::Result<StorageClass> decode_storage_class(std::string_view json);
base::Result<CsiNode> decode_csi_node(std::string_view json);
base::Result<ResourceClaim> decode_resource_claim(std::string_view json);
base::Result<SchedulingPodGroup> decode_scheduling_pod_group(std::string_view json);
/// `kind` stays empty for items of a List answer, which do not carry it: the caller knows what it listed.
base::Result<Workload> decode_workload(std::string_view json);
/// Only metadata, of any kind.
base::Result<ObjectMeta> decode_meta(std::string_view json);

/// What surrounds the items of a List answer.
struct ListMeta {
  std::string api_version;
  std::string kind;
  std::string resource_version;
  std::string continue_token;
  std::int64_t remaining_item_count = 0;
};

/// Calls `each` with the raw JSON text of every item, in order; the text is valid only during the call.
/// `each` returns an error to stop; it may decode the item. An item that is no object is an error.
/// Of a list in protobuf `each` gets envelopes, which say their kind.
base::Result<ListMeta> for_each_item(std::string_view list_json,
                                     const std::function<base::Status(std::string_view item)>& each);

/// What protobuf::ListSplitter has put behind the last item.
base::Result<ListMeta> decode_list_meta(std::string_view envelope);

/// One line of a watch stream, split: {"type": "ADDED", "object": {...}}. Or one frame of a watch in protobuf.
struct WatchLine {
  std::string type;         ///< ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
  std::string_view object;  ///< raw JSON, or an envelope; a view into the line
};
base::Result<WatchLine> split_watch_line(std::string_view line);

}  // namespace api
