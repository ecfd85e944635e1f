/// How one reconcile asks for its slot, and for free capacity with it.

#include <algorithm>

#include "api/meta/condition.hpp"
#include "controllers/evacuation/pass.hpp"

namespace controllers {
namespace {

/// Would an eviction be refused now? A VM's budget always refuses: that starts its migration.
bool held_by_pdb(const Observed& seen) {
  const api::OwnerReference* owner = seen.pod ? seen.pod->meta.controller() : nullptr;
  if ((owner && owner->kind == "VirtualMachineInstance") || (seen.pod && seen.pod->is_terminal())) return false;
  return std::any_of(seen.pdbs.begin(), seen.pdbs.end(), [](const auto& pdb) { return pdb->disruptions_allowed <= 0; });
}

}  // namespace

/// What an evictor says about free capacity unseen is a guess on the safe side: it looks before the guess costs anybody
/// a place.
base::Result<bool> EvacuationReconciler::Pass::needs_capacity_by_reading() {
  const bool reads_more = reads_more_;       // a look for this one question
  seen_.slot.state = Slot::State::kGranted;  // what would be read if it began now
  const auto read = read_documents();
  seen_.slot.state = Slot::State::kNotAsked;
  const bool needed = read && decide(seen_, deps_.evictors, deps_.clock.now()).needs_capacity;
  seen_.documents.clear();
  reads_more_ = reads_more;
  if (!read) return read.error();
  return needed;
}

SurgePod EvacuationReconciler::Pass::surge_pod() const {
  SurgePod copy{seen_.pod};
  const api::OwnerReference* owner = seen_.pod ? seen_.pod->meta.controller() : nullptr;
  if (!owner) return copy;
  for (const auto& each : deps_.pods.by_index(kPodsByOwner, owner->uid)) copy.siblings.insert(each->meta.uid);
  return copy;
}

AdmissionRequest EvacuationReconciler::Pass::request_now() const {
  std::optional<std::int32_t> size;
  const api::OwnerReference* owner = seen_.pod ? seen_.pod->meta.controller() : nullptr;
  if (owner && deps_.desired_replicas) size = deps_.desired_replicas(key_.ns, *owner);
  AdmissionRequest request = admission_request(seen_.evacuation, seen_.pod.get(), size);
  request.held_by_pdb = held_by_pdb(seen_);
  if (seen_.pod_group.name.empty()) return request;
  request.pod_group = key_.ns + "/" + seen_.pod_group.name;
  const auto* vote = api::find_condition(seen_.evacuation.status.conditions, kGroupReady);
  const bool passed_the_gate = vote && vote->reason == kGroupLeaving;  // from there each goes on by itself
  if (!passed_the_gate) request.together = admitted_together(seen_.pod_group);
  return request;
}

/// Who leaves alone asks for the slot first: only with that the closer look is worth its reads. Those of a PodGroup get
/// slots and free capacity in one step, so each says beforehand what it needs.
base::Status EvacuationReconciler::Pass::ask_for_slot(bool needs_capacity) {
  if (auto held = deps_.audit.hold()) {
    seen_.slot = {Slot::State::kWaiting, std::move(held)};
    return base::Done{};
  }
  AdmissionRequest request = request_now();
  const bool may_need = needs_capacity && deps_.capacity;
  std::optional<bool> needed;
  const auto look = [&]() -> base::Status {
    const auto read = needs_capacity_by_reading();
    if (!read) return read.error();
    needed = *read;
    return base::Done{};
  };
  if (may_need && !request.together.empty()) {
    if (auto looked = look(); !looked) return looked;
    if (*needed) request.surge_pod = surge_pod();
  }
  Admission admission = controllers::ask_for_slot(deps_.admission, nullptr, request, {});
  if (may_need && admission.slot.state == Slot::State::kGranted) {
    if (!needed) {
      if (auto looked = look(); !looked) return looked;
    }
    if (*needed) admission = controllers::ask_for_slot(deps_.admission, deps_.capacity, request, surge_pod());
    if (!*needed) deps_.capacity->release_unused(key_);
  }
  seen_.slot = std::move(admission.slot);
  if (!admission.duplicate_of.empty()) seen_.duplicate_of = std::move(admission.duplicate_of);
  return base::Done{};
}

/// A slot is for one attempt. The object read live may be further than the cached one with which we asked. The phase
/// does not matter: an attempt whose abort is over and that goes on to the next evictor asks while it is Aborting.
void EvacuationReconciler::Pass::forget_old_slot() {
  const std::int32_t attempt = seen_.evacuation.status.attempt;
  if (attempt != slot_after_) seen_.slot = {};
  slot_after_ = attempt;
}

}  // namespace controllers
