#pragma once

/// Members of a replicated database, read from the list of their pods and from their nodes.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evictors/evictor.hpp"

namespace evictors::handoff {

enum class InstanceRole { kPrimary, kReplica, kUnknown };

/// Parses a role label. "primary", "master", "leader" and "standby_leader" are the primary. Any value other than these
/// and "replica" is unknown; callers must wait.
InstanceRole role_of_label(std::string_view value);

/// Returns true if the pod is Ready, not terminal and not being deleted.
bool is_live(const api::Pod& pod);
/// Returns true for a pod of a Job, which is not a member of the cluster.
bool belongs_to_job(const api::Pod& pod);

inline constexpr std::string_view kInstances = "instances";
/// Returns the list of the pods with the label. The label's value must be is_plain_name().
Read instances_read(const EvictorContext& context, const std::pair<std::string, std::string>& label);
/// Returns the listed pods of the pod's own Citus group whose names are valid in a path. Empty without a usable answer.
std::vector<api::Pod> instances(const EvictorContext& context);
/// Returns Patroni's label citus-group, "" without Citus. The groups of a Citus cluster share its name, and each has
/// its own leader.
const std::string& citus_group(const api::Pod& pod);

/// Returns true if the name is safe as an object's name in a path.
bool is_path_segment(std::string_view name);

/// Returns a list request for this single node.
Read node_read(const api::NodeName& node);
bool is_node_document(const Document& document);
/// Returns why the node is about to lose its pods. Empty if it keeps them or is unknown.
std::string leaving_node(const EvictorContext& context, const api::NodeName& node);

inline constexpr std::string_view kEvacuated = "evacuated";
/// Returns the read of which pods another Evacuation moves.
Read evacuated_read(std::vector<std::string> pods);
bool is_evacuated(const EvictorContext& context, const std::string& pod);

/// Returns true if the object that was read does not exist.
bool is_gone(const Document* document);

}  // namespace evictors::handoff
