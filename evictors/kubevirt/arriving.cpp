#include <fmt/format.h>

#include "evictors/kubevirt/calls.hpp"
#include "evictors/kubevirt/facts.hpp"
#include "evictors/kubevirt/kubevirt.hpp"

namespace evictors::kubevirt {
namespace {

/// The guest runs on the node of the VMI, in the pod with that name.
Verification runs_in(const EvictorContext& context, const VmFacts& vmi, const std::string& pod,
                     std::optional<api::OutcomeKind> kind, std::string message) {
  return {.state = Verification::State::kArrived,
          .kind = kind,
          .message = std::move(message),
          .replacement = api::EvacuationReplacement{pod, vmi.active_uid, api::NodeName{vmi.node}, context.now}};
}

Verification waiting(std::string message) {
  return {.state = Verification::State::kPending, .message = std::move(message)};
}

Verification not_expected(std::string message) {
  return {.state = Verification::State::kNotExpected, .message = std::move(message)};
}

/// The VM was deleted during its evacuation. A granted eviction keeps its outcome.
Verification deleted(const EvictorContext& context, const std::string& machine) {
  Verification verification = not_expected(fmt::format("VirtualMachine {} was deleted with its VM", machine));
  const auto& outcome = context.evacuation.status.outcome;
  if (!outcome || outcome->kind != api::OutcomeKind::kEvicted) verification.kind = api::OutcomeKind::kTargetGone;
  return verification;
}

/// The VM was shut down. Its VirtualMachine, if it has one, may start it again.
Verification after_shutdown(const EvictorContext& context, const VmState& view) {
  if (context.ref(kStrategyRef) == "External") return not_expected("the VM was drained by its external controller");
  const std::string machine(context.ref(kMachineRef));
  if (machine.empty()) return not_expected("the VM was shut down, and no VirtualMachine restarts it");
  if (view.machine == MachineState::kGone) return deleted(context, machine);
  if (view.machine == MachineState::kStopped)
    return not_expected(fmt::format("the VM stopped, and VirtualMachine {} does not restart it", machine));
  return waiting(fmt::format("VirtualMachine {} has not restarted it yet", machine));
}

}  // namespace

Verification KubeVirtEvictor::verify(const EvictorContext& context) const {
  if (context.ref(kVmiRef).empty()) return {};
  const VmState view = read_state(context);
  if (is_unused_target(context))
    return not_expected("the pod was the target of a migration that did not complete: the VM never ran in it");
  if (view.sight == LookupResult::kGone) return after_shutdown(context, view);
  if (view.sight != LookupResult::kSeen) return waiting("the VirtualMachineInstance cannot be read");
  const bool same = view.vmi.uid == context.ref(kVmiUidRef);
  const bool runs = view.vmi.phase == "Running";
  const VmFacts& vmi = view.vmi;
  if (same && has_moved(context, view) && runs)
    return runs_in(context, vmi, vmi.move.target_pod.empty() ? vmi.name : vmi.move.target_pod,
                   api::OutcomeKind::kMigrated, "the VM runs on node " + vmi.node);
  if (same && (view.vmi.phase == "Succeeded" || view.vmi.phase == "Failed")) return after_shutdown(context, view);
  if (!same && runs) return runs_in(context, vmi, vmi.name, {}, "the VM was restarted on node " + vmi.node);
  return waiting("the VM is not running yet");
}

}  // namespace evictors::kubevirt
