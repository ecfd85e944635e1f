#pragma once

/// One reconcile of one Evacuation. Internal to this folder: reconcile_run.cpp acts, observe.cpp reads, slot.cpp asks
/// for the slot.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/evacuation/freshness.hpp"
#include "controllers/evacuation/io.hpp"
#include "controllers/evacuation/reconciler.hpp"

namespace controllers::evacuation {

/// Created for one call of Reconciler::reconcile() and used by its thread only.
class Reconciler::ReconcileRun {
 public:
  /// `reconciler` and `key` must outlive the object.
  ReconcileRun(Reconciler& reconciler, const api::ObjectKey& key)
      : reconciler_(reconciler),
        deps_(reconciler.deps_),
        key_(key),
        log_(deps_.log.with({base::kv("evacuation", key.to_string())})),
        keys_(deps_.keys.keys()) {}

  /// Returns errors as reconcile() does: they should be retried unless was_refused().
  base::Result<kube::Requeue> run();
  /// Whether run() failed because the server permanently refuses the write.
  bool was_refused() const { return freshness_.write_was_refused(); }
  /// Releases slot, reserved capacity and the place in PDB wait lists; reports the refusal once per version of the
  /// object. REQUIRES: was_refused().
  kube::Requeue give_up(const base::Error& refusal);

 private:
  /// Whether the Evacuation still exists.
  enum class Continue { kYes, kNo };

  // --- observe.cpp: observes the caches, then live objects
  bool observe_cached();
  void note_departure(const api::Evacuation& cached);
  void observe_surroundings();
  bool yields_to_us(const api::Evacuation& other) const;
  void observe_past();
  bool is_of_a_wave() const;
  std::set<std::string> nodes_emptied_with_it() const;
  void check_spec();
  std::string placement_problem() const;
  bool policy_gone() const;
  void adopt(StoredEvacuation stored);
  void restore_unsaved();
  void show_unsaved();
  void observe_origin();
  void observe_creator();
  bool waits_for_keys() const;
  base::Result<Continue> refresh();
  base::Result<Continue> refresh_evacuation();
  bool take_cached();
  base::Status refresh_pod();
  base::Result<Continue> refresh_pod_group();
  base::Status read_documents();
  base::Status read_documents_of(const std::string& evictor, const std::vector<evictors::Read>& reads);
  evictors::Document evacuated_pods(const evictors::Read& read) const;
  evictors::CallResult send(const ServiceCall& call, const kube::Request& request,
                            const kube::Client::Fence& fence = {});
  evictors::CallResult send_to_service(const ServiceCall& call, const kube::Request& request,
                                       const kube::Client::Fence& fence);
  void observe_budgets();
  void observe_pvcs();
  void observe_scheduling_group();
  base::Result<Continue> refresh_pvcs();
  bool has_unknown_group() const;
  base::Status refresh_scheduling_group();

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
  void release_requests();
  base::Status take_slot(const Decision& decision);
  evictors::CallResult send_action(const evictors::Action& action);
  evictors::CallResult send_limited(const evictors::Action& action);
  base::Result<kube::Requeue> finish_round(const Decision& decision);
  base::Result<kube::Requeue> requeue_within(const Decision& decision, base::Duration most);
  base::Result<kube::Requeue> finish_unsaved(const Decision& decision);
  void remember_blocked();
  bool budget_opened_meanwhile() const;
  kube::Requeue poll_documents(const kube::Requeue& requeue) const;
  void mark_dead(const std::string& evictor);
  base::Result<Continue> carry_out(const Decision& decision);
  std::optional<base::Result<Continue>> check_before_call(const Decision& decision);
  base::Result<Continue> remove_evacuation();
  base::Result<Continue> change_main(const Decision& decision);
  base::Result<Continue> store_status(const Decision& decision);
  std::vector<kube::Event> events_of(const Decision& decision) const;
  void confirm_write();
  void notify_stored(const UnconfirmedWrite& write);
  void record_intent();
  base::Result<Continue> call(evictors::Action action);
  base::Result<Continue> record_answer(const evictors::Action& action, const evictors::CallResult& answer);
  bool may_store_later(const Decision& answered, const evictors::Action& action) const;
  void forget_unsaved();
  void store_later(const evictors::Action& action, const evictors::CallResult& answer);
  std::optional<base::Duration> may_still_wait(const Decision& decision);
  std::optional<base::TimePoint> store_by(const Decision& decision);
  bool shows_only_another_candidate(const Decision& decision) const;
  bool claims_replacement(const Decision& decision);
  base::Result<Continue> after_write(base::Result<StoredEvacuation> written);
  /// Confirms a 404 to a write by a read, because an admission webhook may have returned it.
  base::Result<Continue> confirm_gone();
  /// Returns the timeout for a call that starts now, or an error if it must not start. A call must end within
  /// kCallTimeout after its intent, or within `wanted` if longer (Evictor::call_timeout); after that it counts as lost.
  base::Result<base::milliseconds> time_for_call(base::milliseconds wanted) const;
  /// Fills in the objects that the Event refers to.
  void publish(const api::Evacuation& evacuation, kube::Event event) const;
  void take_pod_from(const evictors::Action& action, const evictors::CallResult& answer);
  void retry_on_allowance();
  base::Status check_leader() const;
  /// Whether pod and Evacuation are fresh enough to carry out the result of decide().
  bool may_carry_out() const { return stored_ && freshness_.pod_is_live(); }
  /// Whether Evacuation and eviction carry the cached versions, so that the server refuses them if the cache is stale.
  bool is_bound_to_cached(const Decision& decision);
  /// Whether the decision only records final facts from the caches.
  bool only_records_cached_facts(const Decision& decision);
  bool only_records_plain(const Decision& decision) const;
  bool is_seen_to_have_left() const;
  base::Result<Continue> act_or_refresh(const Decision& decision);

  Reconciler& reconciler_;
  const Dependencies& deps_;
  const api::ObjectKey& key_;
  const base::Log log_;
  const std::shared_ptr<const crypto::KeyRing> keys_;  ///< fixed for the whole reconcile; may be nullptr
  Observed seen_;                                      ///< input of decide()
  Freshness freshness_;                                ///< freshness of seen_
  std::optional<StoredEvacuation> stored_;             ///< base of the next write
  bool write_kept_nothing_ = false;                    ///< whether the newest status write left the object unchanged
  std::optional<UnsavedGrant> unsaved_;                ///< included in seen_ but not in stored_
  std::vector<kube::Event> unsaved_events_;
  std::optional<api::EvacuationIntent> recorded_intent_;  ///< intent that this reconcile has written to the audit log
  std::string cached_version_;                            ///< resourceVersion of the cached object
  std::int32_t slot_after_ = 0;                           ///< attempt count for which seen_.slot was requested
};

}  // namespace controllers::evacuation
