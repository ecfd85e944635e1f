#pragma once

/// Lenient decoders from JSON text (simdjson) to the compact kinds of api/core/kinds.hpp. A field of a wrong type
/// counts as absent; only text that is not a JSON object is an error. Never throws, safe for hostile input.
/// Thread-safe. All decoders except decode_resource_claim() and decode_scheduling_pod_group() also accept a protobuf
/// envelope of their own kind (api/core/protobuf/envelope.hpp); decode_workload() accepts those of ReplicaSets,
/// StatefulSets and Jobs.

#include <functional>
#include <string>
#include <string_view>

#include "api/core/kinds.hpp"
#include "base/result.hpp"

namespace api {

base::Result<Pod> decode_pod(std::string_view json);
base::Result<Node> decode_node(std::string_view json);
/// Detects policy/v1beta1 by the object's apiVersion. Items of a List response have no apiVersion: use
/// decode_pdb_v1beta1() for items of a v1beta1 list.
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
/// `kind` remains empty for items of a List response, which do not contain it. The caller knows the kind that it
/// listed.
base::Result<Workload> decode_workload(std::string_view json);
/// Decodes only the metadata, of any kind.
base::Result<ObjectMeta> decode_meta(std::string_view json);

/// List response without its items.
struct ListMeta {
  std::string api_version;
  std::string kind;
  std::string resource_version;
  std::string continue_token;
  std::int64_t remaining_item_count = 0;
};

/// Calls `each` with the raw JSON text of every item, in order; the text is valid during the call only. `each` may
/// decode the item, and returns an error to stop. An item that is not an object is an error. For a protobuf list,
/// `each` receives envelopes, which contain the kind.
base::Result<ListMeta> for_each_item(std::string_view list_json,
                                     const std::function<base::Status(std::string_view item)>& each);

/// Decodes the envelope that protobuf::ListSplitter appends after the last item.
base::Result<ListMeta> decode_list_meta(std::string_view envelope);

/// One event of a watch: a JSON line {"type": "ADDED", "object": {...}} or a protobuf frame.
struct WatchLine {
  std::string type;         ///< ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
  std::string_view object;  ///< raw JSON or an envelope; a view into the line
};
base::Result<WatchLine> split_watch_line(std::string_view line);

}  // namespace api
