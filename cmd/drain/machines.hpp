#pragma once

/// What a drain would do to the virtual machines of KubeVirt on its node.

#include <set>
#include <string>
#include <vector>

#include "cmd/session/session.hpp"

namespace cmd::plugin {

/// UIDs of those launcher pods whose guest an eviction shuts down, by their VirtualMachineInstance and the cluster's
/// evictionStrategy: DrainRules::ending_machines. A machine that cannot be read counts. Without launchers reads
/// nothing.
std::set<std::string> read_ending_machines(Session& session, const std::vector<api::Pod>& pods);

}  // namespace cmd::plugin
