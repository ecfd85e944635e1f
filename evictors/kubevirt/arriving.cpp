
#include <fmt/format.h>

#include "evictors/kubevirt/calls.hpp"
#include "evictors/kubevirt/facts.hpp"
#include "evictors/kubevirt/kubevirt.hpp"
#include "evictors/kubevirt/ownership.hpp"

namespace evictors::kubevirt {
namespace {

Verification arrived(const VmState& view, const EvictorContext& context) {
  Verification verification;
  verification.state = Verification::State::kArrived;
  verification.kind = api::OutcomeKind::kMigrated;
  verification.message = "the VM runs on node " + view.vmi.node;
  const std::string pod = view.vmi.move.target_pod.empty() ? view.vmi.name : view.vmi.move.target_pod;
  verification.replacement =
      api::EvacuationReplacement{pod, view.vmi.active_uid, api::NodeName{view.vmi.node}, context.now};
  return verification;
}

Verification waiting(std::string message) {
  Verification verification;
  verification.state = Verification::State::kPending;
  verification.message = std::move(message);
  return verification;
}

Verification not_expected(std::string message) {
  Verification verification;
  verification.state = Verification::State::kNotExpected;
  verification.message = std::move(message);
  return verification;
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

Verification started_again(const VmState& view, const EvictorContext& context) {
  Verification verification;
  verification.state = Verification::State::kArrived;
  verification.message = "the VM was restarted on node " + view.vmi.node;
  verification.replacement =
      api::EvacuationReplacement{view.vmi.name, view.vmi.active_uid, api::NodeName{view.vmi.node}, context.now};
  return verification;
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
  if (same && has_moved(context, view) && runs) return arrived(view, context);
  if (same && (view.vmi.phase == "Succeeded" || view.vmi.phase == "Failed")) return after_shutdown(context, view);
  if (!same && runs) return started_again(view, context);
  return waiting("the VM is not running yet");
}

}  // namespace evictors::kubevirt
