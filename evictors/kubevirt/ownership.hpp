#pragma once

/// What of a VM's mark and migrations is ours. Internal to kubevirt*.cpp.

#include <string>

#include "evictors/evictor.hpp"
#include "evictors/kubevirt/facts.hpp"

namespace evictors::kubevirt {

/// An eviction now might shut the guest down: KubeVirt does not say yet whether the VM can migrate.
bool might_shut_down(const EvictorContext& context, const VmState& view);

/// The node that the VM is to leave.
const std::string& source_node(const EvictorContext& context);
/// KubeVirt's mark names that node.
bool is_marked_for_us(const EvictorContext& context, const VmState& view);
/// Our call set that mark, so that we may take it away.
bool mark_is_ours(const EvictorContext& context);
/// Made by KubeVirt's evacuation controller for our node.
bool evacuates(const EvictorContext& context, const Migration& migration);
/// The pod is a migration's target in which the guest has never run: its end moves nothing.
bool is_unused_target(const EvictorContext& context);
/// The guest has left our node already; its old pod ends any moment.
bool has_moved(const EvictorContext& context, const VmState& view);
/// Its memory is being moved after it: it must not be stopped now.
bool is_in_post_copy(const VmState& view);

}  // namespace evictors::kubevirt
