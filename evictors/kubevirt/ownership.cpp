/// Ownership of a VM's mark and migrations.

#include "evictors/classify.hpp"
#include "evictors/eviction_call.hpp"
#include "evictors/kubevirt/calls.hpp"

namespace evictors::kubevirt {
namespace {

/// Returns true if the call of the intent set the mark. A mark that was absent before the call counts as set by it,
/// unless the call's answer shows otherwise.
bool set_the_mark(const api::EvacuationIntent& intent) {
  const bool absent_before = intent.pre_state.find(kMarkAbsent) != std::string::npos;
  return absent_before && (!intent.resolved || intent.result == to_string(ResponseClass::kAcceptedInBackground));
}

}  // namespace

bool might_shut_down(const EvictorContext& context, const VmState& view) {
  return !in_migration_mode(context) && fate_of(view) == MachineFate::kUndecided &&
         strategy_of(view) == "LiveMigrateIfPossible";
}

const std::string& source_node(const EvictorContext& context) { return context.evacuation.spec.node_name.value; }

bool is_marked_for_us(const EvictorContext& context, const VmState& view) {
  return !view.vmi.mark.empty() && view.vmi.mark == source_node(context);
}

bool evacuates(const EvictorContext& context, const Migration& migration) {
  return !source_node(context).empty() && migration.evacuated_node == source_node(context);
}

bool mark_is_ours(const EvictorContext& context) {
  if (const auto ref = context.ref(kMarkOwnedRef); !ref.empty()) return ref == "true";
  if (context.intent(kCancelEvacuation) || context.intent(kDeleteMigration)) return true;  // own mark only
  const auto* asked = context.intent(kPostEviction);
  return asked && set_the_mark(*asked);
}

bool is_in_post_copy(const VmState& view) {
  const Migration* current = view.current();
  return current && view.vmi.move.mode == "PostCopy" && !view.vmi.move.completed &&
         view.vmi.move.migration_uid == current->uid;
}

bool is_unused_target(const EvictorContext& context) { return context.ref(kHostedRef) == "false"; }

bool has_moved(const EvictorContext& context, const VmState& view) {
  return !view.vmi.node.empty() && view.vmi.node != source_node(context) && !is_unused_target(context);
}

}  // namespace evictors::kubevirt
