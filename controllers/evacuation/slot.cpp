/// How one reconcile asks for its slot, and for free capacity with it.

#include <algorithm>
#include <utility>

#include "api/meta/condition.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "controllers/evacuation/reconcile_run.hpp"

namespace controllers::evacuation {
namespace {

/// Would an eviction be refused now? A VM's budget always refuses: that starts its migration.
bool held_by_pdb(const Observed& seen) {
  const api::OwnerReference* owner = seen.pod ? seen.pod->meta.controller() : nullptr;
  if ((owner && owner->kind == "VirtualMachineInstance") || (seen.pod && seen.pod->is_terminal())) return false;
  return std::any_of(seen.pdbs.begin(), seen.pdbs.end(), [](const auto& pdb) { return pdb->disruptions_allowed <= 0; });
}

}  // namespace

/// What an evictor says about free capacity unseen is a guess on the safe side: it reads before the guess costs anybody
/// a slot.
base::Result<bool> Reconciler::ReconcileRun::needs_capacity_by_reading() {
  const bool had_documents = freshness_.has_documents();
  seen_.slot.state = Slot::State::kGranted;  // what would be read if it began now
  const auto read = read_documents();
  seen_.slot.state = Slot::State::kNotAsked;
  const bool needed = read && decide(seen_, deps_.evictors, deps_.clock.now()).needs_capacity;
  seen_.documents.clear();
  if (!had_documents) freshness_.forget_documents();
  if (!read) return read.error();
  return needed;
}

SurgePod Reconciler::ReconcileRun::surge_pod() const {
  SurgePod copy{seen_.pod};
  const api::OwnerReference* owner = seen_.pod ? seen_.pod->meta.controller() : nullptr;
  if (!owner) return copy;
  for (const auto& each : deps_.pods.by_index(kPodsByOwner, owner_index_key(key_.ns, *owner)))
    copy.siblings.insert(each->meta.uid);
  return copy;
}

AdmissionRequest Reconciler::ReconcileRun::request_for(const Decision& decision) const {
  std::optional<std::int32_t> size;
  const api::OwnerReference* owner = seen_.pod ? seen_.pod->meta.controller() : nullptr;
  if (owner && deps_.desired_replicas) size = deps_.desired_replicas(key_.ns, *owner);
  AdmissionRequest request = admission_request(seen_.evacuation, seen_.pod.get(), size);
  // The attempt without a slot has ended in this decision, which is not stored yet: the next one asks.
  const auto phase = decision.status.phase;
  const bool begins = phase == api::EvacuationPhase::kPending || phase == api::EvacuationPhase::kBackoff;
  if (begins && std::exchange(request.has_begun, false)) ++request.attempt;
  request.held_by_pdb = held_by_pdb(seen_);
  request.priority = effective_priority(seen_.evacuation, deps_.rules.manual_priority);
  if (seen_.pod_group.name.empty()) return request;
  request.pod_group = key_.ns + "/" + seen_.pod_group.name;
  const auto* vote = api::find_condition(seen_.evacuation.status.conditions, api::ConditionType::kGroupReady);
  const bool passed_the_gate = vote && vote->reason == api::Reason::kLeaving;  // from there each goes on by itself
  if (!passed_the_gate) request.together = admitted_together(seen_.pod_group);
  return request;
}

/// Who leaves alone asks for the slot first: only with that the closer read is worth its requests. Those of a PodGroup
/// get slots and free capacity in one step, so each says beforehand what it needs.
base::Status Reconciler::ReconcileRun::obtain_slot(const Decision& decision) {
  if (auto blocker = deps_.audit.admission_blocker()) {
    seen_.slot = {Slot::State::kWaiting, std::move(blocker)};
    return base::Done{};
  }
  AdmissionRequest request = request_for(decision);
  const bool may_need = decision.needs_capacity && deps_.reservations;
  std::optional<bool> needed;
  if (may_need && !request.together.empty()) {
    const auto read = needs_capacity_by_reading();
    if (!read) return read.error();
    needed = *read;
    if (*needed) request.surge_pod = surge_pod();
  }
  Admission admission = deps_.admission.request(request);
  if (may_need && admission.slot.state == Slot::State::kGranted) {
    auto with_capacity = add_capacity(request, needed, std::move(admission));
    if (!with_capacity) return with_capacity.error();
    admission = *std::move(with_capacity);
  }
  seen_.slot = std::move(admission.slot);
  if (!admission.duplicate_of.empty()) seen_.duplicate_of = std::move(admission.duplicate_of);
  confirm_destination(request);
  return base::Done{};
}

/// What made the plan of a wave possible may be taken by others before its turn comes.
void Reconciler::ReconcileRun::confirm_destination(const AdmissionRequest& request) {
  seen_.no_destination.clear();
  const auto phase = seen_.evacuation.status.phase;
  const bool begins = (phase == api::EvacuationPhase::kPending || phase == api::EvacuationPhase::kBackoff) &&
                      seen_.slot.state == Slot::State::kGranted && seen_.slot.reserved_node.empty();
  if (!begins || !deps_.reservations || !seen_.pod || seen_.pod->is_terminal() || !is_of_a_wave()) return;
  seen_.no_destination = deps_.reservations->keep_place(request, *seen_.pod, nodes_emptied_with_it());
  if (seen_.no_destination.empty()) return;
  deps_.admission.withdraw(key_);
  seen_.slot = {};
}

/// `needed`: what an earlier read said; nullopt: it reads now.
base::Result<Admission> Reconciler::ReconcileRun::add_capacity(const AdmissionRequest& request,
                                                               std::optional<bool> needed, Admission granted) {
  if (!needed) {
    const auto read = needs_capacity_by_reading();
    if (!read) return read.error();
    needed = *read;
  }
  if (*needed) {
    return request_with_capacity(deps_.admission, *deps_.reservations, {request, surge_pod(), nodes_emptied_with_it()});
  }
  deps_.reservations->release_unused(key_);
  return granted;
}

/// A slot is for one attempt. The object read live may be further than the cached one with which we asked. The phase
/// does not matter: an attempt whose abort is over and that goes on to the next evictor asks while it is Aborting.
void Reconciler::ReconcileRun::forget_old_slot() {
  const std::int32_t attempt = seen_.evacuation.status.attempt;
  if (attempt != slot_after_) seen_.slot = {};
  slot_after_ = attempt;
}

}  // namespace controllers::evacuation
