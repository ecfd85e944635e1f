/// Requests the slot of one reconcile, with free capacity if needed.

#include <algorithm>
#include <utility>

#include "api/meta/condition.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "controllers/evacuation/reconcile_run.hpp"

namespace controllers::evacuation {
namespace {

/// Whether an eviction would be refused now. False for a VM: the refusal of its PDB starts the migration.
bool held_by_pdb(const Observed& seen) {
  const api::OwnerReference* owner = seen.pod ? seen.pod->meta.controller() : nullptr;
  if ((owner && owner->kind == "VirtualMachineInstance") || (seen.pod && seen.pod->is_terminal())) return false;
  return std::any_of(seen.pdbs.begin(), seen.pdbs.end(), [](const auto& pdb) { return pdb->disruptions_allowed <= 0; });
}

}  // namespace

/// Without documents, needs_capacity of an evictor is a conservative guess. Reads the documents before the guess costs
/// a slot.
base::Result<bool> ReconcileRun::needs_capacity_by_reading() {
  const bool had_documents = state_.freshness.has_documents();
  state_.seen.slot.state = Slot::State::kGranted;  // read what would be read if the attempt began now
  const auto read = state_.read_documents();
  state_.seen.slot.state = Slot::State::kNotAsked;
  const bool needed = read && decide(state_.seen, deps_.evictors, deps_.clock.now()).needs_capacity;
  state_.seen.documents.clear();
  if (!had_documents) state_.freshness.forget_documents();
  if (!read) return read.error();
  return needed;
}

SurgePod ReconcileRun::surge_pod() const {
  SurgePod copy{state_.seen.pod};
  const api::OwnerReference* owner = state_.seen.pod ? state_.seen.pod->meta.controller() : nullptr;
  if (!owner) return copy;
  for (const auto& each : deps_.pods.by_index(kPodsByOwner, owner_index_key(key_.ns, *owner)))
    copy.siblings.insert(each->meta.uid);
  return copy;
}

AdmissionRequest ReconcileRun::request_for(const Decision& decision) const {
  std::optional<std::int32_t> size;
  const api::OwnerReference* owner = state_.seen.pod ? state_.seen.pod->meta.controller() : nullptr;
  if (owner && deps_.desired_replicas) size = deps_.desired_replicas(key_.ns, *owner);
  AdmissionRequest request = admission_request(state_.seen.evacuation, state_.seen.pod.get(), size);
  // The decision ends the attempt without a slot but is not stored yet, so request the slot for the next attempt.
  if (is_between_attempts(decision.status.phase) && std::exchange(request.has_begun, false)) ++request.attempt;
  request.held_by_pdb = held_by_pdb(state_.seen);
  request.priority = effective_priority(state_.seen.evacuation, deps_.rules.manual_priority);
  if (state_.seen.pod_group.name.empty()) return request;
  request.pod_group = key_.ns + "/" + state_.seen.pod_group.name;
  const auto* vote = api::find_condition(state_.seen.evacuation.status.conditions, api::ConditionType::kGroupReady);
  // Members that passed the gate continue independently.
  const bool passed_the_gate = vote && vote->reason == api::Reason::kLeaving;
  if (!passed_the_gate) request.together = admitted_together(state_.seen.pod_group);
  return request;
}

/// A single pod requests its slot first, since only a granted slot justifies the additional reads. Members of a
/// PodGroup get slots and capacity in one step, so each reads beforehand whether it needs capacity.
base::Status ReconcileRun::obtain_slot(const Decision& decision) {
  if (auto blocker = deps_.audit.admission_blocker()) {
    state_.seen.slot = {Slot::State::kWaiting, std::move(blocker)};
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
  state_.seen.slot = std::move(admission.slot);
  if (!admission.duplicate_of.empty()) state_.seen.duplicate_of = std::move(admission.duplicate_of);
  confirm_destination(request);
  return base::Done{};
}

/// Checks again that a move of a wave has a destination: other pods may have taken the capacity since planning.
void ReconcileRun::confirm_destination(const AdmissionRequest& request) {
  state_.seen.no_destination.clear();
  const bool begins = is_between_attempts(state_.seen.evacuation.status.phase) &&
                      state_.seen.slot.state == Slot::State::kGranted && state_.seen.slot.reserved_node.empty();
  if (!begins || !deps_.reservations || !state_.seen.pod || state_.seen.pod->is_terminal() || !state_.is_of_a_wave())
    return;
  state_.seen.no_destination =
      deps_.reservations->hold_place(request, *state_.seen.pod, state_.nodes_emptied_with_it());
  if (state_.seen.no_destination.empty()) return;
  deps_.admission.withdraw(key_);
  state_.seen.slot = {};
}

/// `needed` is the result of an earlier read; nullopt reads now.
base::Result<Admission> ReconcileRun::add_capacity(const AdmissionRequest& request, std::optional<bool> needed,
                                                   Admission granted) {
  if (!needed) {
    const auto read = needs_capacity_by_reading();
    if (!read) return read.error();
    needed = *read;
  }
  if (*needed) {
    return request_with_capacity(deps_.admission, *deps_.reservations,
                                 {request, surge_pod(), state_.nodes_emptied_with_it()});
  }
  deps_.reservations->release_unused(key_);
  return granted;
}

/// Drops a slot of an earlier attempt: the live object may be at a later attempt than the cached object for which the
/// slot was requested. Independent of the phase, because an attempt that continues with the next evictor after an abort
/// requests its slot while Aborting.
void ReconcileRun::forget_old_slot() {
  const std::int32_t attempt = state_.seen.evacuation.status.attempt;
  if (attempt != slot_after_) state_.seen.slot = {};
  slot_after_ = attempt;
}

}  // namespace controllers::evacuation
