#pragma once

/// What of a VM's mark and migrations is ours. Internal to kubevirt*.cpp.

#include <string>

#include "evictors/evictor.hpp"
#include "evictors/kubevirt/facts.hpp"

namespace evictors {

/// The node that the VM is to leave.
const std::string& source_node(const Context& context);
/// KubeVirt's mark names that node.
bool is_marked_for_us(const Context& context, const VmView& view);
/// Our call set that mark, so that we may take it away.
bool mark_is_ours(const Context& context);
/// Made by KubeVirt's evacuation controller for our node.
bool evacuates(const Context& context, const VmMigration& migration);
/// The guest has left our node already; its old pod ends any moment.
bool has_moved(const Context& context, const VmView& view);
/// Its memory is being moved after it: it must not be stopped now.
bool is_in_post_copy(const VmView& view);

}  // namespace evictors
