#pragma once

/// One reconcile of one Evacuation: observe, decide, store the intent, act, store the answer. Internal to this folder:
/// latest_state.hpp reads, slot.cpp requests the slot, writes.cpp and call.cpp act.

#include <optional>
#include <string>
#include <vector>

#include "controllers/evacuation/io.hpp"
#include "controllers/evacuation/latest_state.hpp"
#include "controllers/evacuation/reconciler.hpp"

namespace controllers::evacuation {

/// Created for one call of Reconciler::reconcile() and used by its thread only.
class ReconcileRun {
 public:
  /// `reconciler` and `key` must outlive the object.
  ReconcileRun(Reconciler& reconciler, const api::ObjectKey& key)
      : reconciler_(reconciler),
        deps_(reconciler.deps_),
        key_(key),
        log_(deps_.log.with({base::kv("evacuation", key.to_string())})),
        state_(reconciler, key, [this] { confirm_write(); }) {}

  /// Returns errors as reconcile() does: they should be retried unless was_refused().
  base::Result<kube::Requeue> run();
  /// Whether run() failed because the server permanently refuses the write.
  bool was_refused() const { return state_.freshness.write_was_refused(); }
  /// Releases slot, reserved capacity and the place in PDB wait lists; reports the refusal once per version of the
  /// object. REQUIRES: was_refused().
  kube::Requeue give_up(const base::Error& refusal);

 private:
  // --- slot.cpp: requests a slot, with free capacity if needed
  base::Status obtain_slot(const Decision& decision);
  void confirm_destination(const AdmissionRequest& request);
  base::Result<Admission> add_capacity(const AdmissionRequest& request, std::optional<bool> needed, Admission granted);
  base::Result<bool> needs_capacity_by_reading();
  void forget_old_slot();
  AdmissionRequest request_for(const Decision& decision) const;
  SurgePod surge_pod() const;

  // --- reconcile_run.cpp: what is done about it
  kube::Requeue forget_deleted();
  bool pod_still_departs() const;
  /// Releases what was requested based on the cached state before the end; no other component releases it.
  void release_requests() {
    deps_.admission.forget(key_);
    if (deps_.reservations) deps_.reservations->release_unused(key_);
  }
  /// Requests the slot, then reads the documents that decide() needs once it has the slot.
  base::Status take_slot(const Decision& decision) {
    if (auto asked = obtain_slot(decision); !asked) return asked;
    return state_.may_carry_out() ? state_.read_documents() : base::Done{};
  }
  base::Result<kube::Requeue> finish_round(const Decision& decision);
  base::Result<kube::Requeue> requeue_within(const Decision& decision, base::Duration most);
  void remember_blocked();
  bool budget_opened_meanwhile() const;
  kube::Requeue poll_documents(const kube::Requeue& requeue) const;
  void mark_dead(const std::string& evictor);
  base::Result<Continue> carry_out(const Decision& decision);
  std::optional<base::Result<Continue>> check_before_call(const Decision& decision);
  void retry_on_allowance();
  base::Status check_leader() const;

  // --- writes.cpp: writes, now or later, and publishes what was stored
  base::Result<Continue> change_main(const Decision& decision);
  base::Result<Continue> store_status(const Decision& decision);
  base::Result<Continue> remove_evacuation();
  base::Result<Continue> after_write(base::Result<StoredEvacuation> written);
  /// Confirms a 404 to a write by a read, because an admission webhook may have returned it.
  base::Result<Continue> confirm_gone();
  base::Result<kube::Requeue> finish_unsaved(const Decision& decision);
  std::vector<kube::Event> events_of(const Decision& decision) const;
  void confirm_write();
  void notify_stored(const UnconfirmedWrite& write);
  /// Fills in the objects that the Event refers to.
  void publish(const api::Evacuation& evacuation, kube::Event event) const;
  std::optional<base::Duration> may_still_wait(const Decision& decision);
  std::optional<base::TimePoint> store_by(const Decision& decision);
  bool shows_only_another_candidate(const Decision& decision) const;
  bool claims_replacement(const Decision& decision);

  // --- call.cpp: sends the call and records the answer
  base::Result<Continue> call(evictors::Action action);
  void record_intent();
  evictors::CallResult send_action(const evictors::Action& action);
  evictors::CallResult send_limited(const evictors::Action& action);
  /// Returns the timeout for a call that starts now, or an error if it must not start. A call must end within
  /// kCallTimeout after its intent, or within `wanted` if longer (Evictor::call_timeout); after that it counts as lost.
  base::Result<base::milliseconds> time_for_call(base::milliseconds wanted) const;
  base::Result<Continue> record_answer(const evictors::Action& action, const evictors::CallResult& answer);
  bool may_store_later(const Decision& answered, const evictors::Action& action) const;

  Reconciler& reconciler_;
  const Reconciler::Dependencies& deps_;
  const api::ObjectKey& key_;
  const base::Log log_;
  LatestState state_;
  bool write_kept_nothing_ = false;                       ///< whether the newest status write left the object unchanged
  std::optional<api::EvacuationIntent> recorded_intent_;  ///< intent that this reconcile has written to the audit log
  std::int32_t slot_after_ = 0;  ///< attempt count for which LatestState::seen.slot was requested
};

}  // namespace controllers::evacuation
