#pragma once

/// Members of a replicated database, as the list of their pods and their nodes show them.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evictors/evictor.hpp"

namespace evictors::handoff {

enum class InstanceRole { kPrimary, kReplica, kUnknown };

/// "primary", "master", "leader" and "standby_leader" are one role; anything but "replica" beside them is unknown:
/// wait.
InstanceRole role_of_label(std::string_view value);

/// Ready, and neither ended nor being deleted.
bool is_live(const api::Pod& pod);
/// True for a pod of a Job: it is no member of a cluster.
bool belongs_to_job(const api::Pod& pod);

inline constexpr std::string_view kInstances = "instances";
/// A list of the pods with that label; its value must be is_plain_name().
Read instances_read(const EvictorContext& context, const std::pair<std::string, std::string>& label);
/// The pods of that list whose names can be used in a path, of the pod's own Citus group. Empty without a usable
/// answer.
std::vector<api::Pod> instances(const EvictorContext& context);
/// Patroni's label: the groups of a Citus cluster share its name, and each has its own leader. "": no Citus.
const std::string& citus_group(const api::Pod& pod);

/// May be used as an object's name in a path.
bool is_path_segment(std::string_view name);

/// List of that one node.
Read node_read(const api::NodeName& node);
bool is_node_document(const Document& document);
/// Why the node is about to lose its pods; empty: it keeps them, or is not known.
std::string leaving_node(const EvictorContext& context, const api::NodeName& node);

inline constexpr std::string_view kEvacuated = "evacuated";
/// Which of the pods another Evacuation moves.
Read evacuated_read(std::vector<std::string> pods);
bool is_evacuated(const EvictorContext& context, const std::string& pod);

/// The object that was to be read is not there.
bool is_gone(const Document* document);

}  // namespace evictors::handoff
