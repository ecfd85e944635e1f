#pragma once

/// Ownership of a VM's mark and migrations. Internal to kubevirt*.cpp.

#include <string>

#include "evictors/evictor.hpp"
#include "evictors/kubevirt/facts.hpp"

namespace evictors::kubevirt {

/// Returns true if an eviction might shut the guest down, because KubeVirt does not yet show whether the VM can
/// migrate.
bool might_shut_down(const EvictorContext& context, const VmState& view);

/// Returns the node that the VM is to leave.
const std::string& source_node(const EvictorContext& context);
/// Returns true if KubeVirt's mark names source_node().
bool is_marked_for_us(const EvictorContext& context, const VmState& view);
/// Returns true if Evacuator's call set the mark, so that it may remove it.
bool mark_is_ours(const EvictorContext& context);
/// Returns true for a migration that KubeVirt's evacuation controller created for source_node().
bool evacuates(const EvictorContext& context, const Migration& migration);
/// Returns true if the pod is the target of a migration and the guest has never run in it. Its end moves nothing.
bool is_unused_target(const EvictorContext& context);
/// Returns true if the guest has left source_node(). Its old pod is about to end.
bool has_moved(const EvictorContext& context, const VmState& view);
/// Returns true if the guest already runs on the target while its memory is still being copied. Do not stop the
/// migration then.
bool is_in_post_copy(const VmState& view);

}  // namespace evictors::kubevirt
