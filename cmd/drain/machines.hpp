#pragma once

/// Effect of a drain on the KubeVirt virtual machines of the node.

#include <set>
#include <string>
#include <vector>

#include "cmd/session/session.hpp"

namespace cmd::plugin {

/// Returns the UIDs of launcher pods whose guest shuts down on eviction, for DrainRules::shutdown_launchers. Depends on
/// the VirtualMachineInstance and the cluster's evictionStrategy. A machine that cannot be read counts as shutting
/// down. Reads nothing if there are no launcher pods.
std::set<std::string> read_shutdown_launchers(Session& session, const std::vector<api::Pod>& pods);

}  // namespace cmd::plugin
