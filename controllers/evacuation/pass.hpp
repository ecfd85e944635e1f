#pragma once

/// One reconcile of one Evacuation; internal to evacuation_{reconciler,observe,slot}.cpp.

#include <optional>
#include <string>
#include <vector>

#include "controllers/evacuation/io.hpp"
#include "controllers/evacuation/reconciler.hpp"

namespace controllers {

/// One reconcile. `seen` is what decide() gets; what of it is live is tracked beside it.
class EvacuationReconciler::Pass {
 public:
  Pass(EvacuationReconciler& shell, const api::ObjectKey& key)
      : shell_(shell), deps_(shell.deps_), key_(key), log_(deps_.log.with({base::kv("evacuation", key.to_string())})) {}

  base::Result<kube::Requeue> run();
  /// After run() failed: the server said that it will never store this.
  bool was_refused() const { return refused_; }
  /// Gives up what it holds, and tells. REQUIRES: was_refused().
  kube::Requeue give_up(const base::Error& refusal);

 private:
  /// What to do after a step of run().
  enum class Go { kOn, kGone };

  // --- observe.cpp: what is seen, first in the caches, then live
  bool observe_cached();
  void observe_surroundings();
  bool yields_to_us(const api::Evacuation& other) const;
  void observe_past();
  void check_spec();
  bool policy_gone() const;
  base::Result<Go> refresh();
  base::Result<Go> refresh_evacuation();
  bool take_cached();
  base::Status refresh_pod();
  base::Result<Go> refresh_pod_group();
  base::Status read_documents();
  base::Status read_documents_of(const std::string& evictor, const std::vector<evictors::Read>& reads);
  evictors::Answer send(const std::string& service, const kube::Request& request);

  // --- slot.cpp: asking for a slot, and for free capacity with it
  base::Status ask_for_slot(bool needs_capacity);
  base::Result<bool> needs_capacity_by_reading();
  void forget_old_slot();
  AdmissionRequest request_now() const;
  SurgePod surge_pod() const;

  // --- reconciler.cpp: what is done about it
  evictors::Answer send_limited(const evictors::Action& action);
  base::Result<kube::Requeue> settle(const Decision& decision);
  void remember_blocked();
  bool budget_opened_meanwhile() const;
  kube::Requeue look_after(const kube::Requeue& requeue) const;
  void note_dead(const std::string& evictor);
  base::Result<Go> carry_out(const Decision& decision);
  base::Result<Go> change_main(const Decision& decision);
  base::Result<Go> store_status(const Decision& decision);
  base::Result<Go> call(const evictors::Action& action);
  base::Result<Go> record_answer(const evictors::Action& action, const evictors::Answer& answer);
  base::Result<Go> after_write(base::Result<StoredEvacuation> written);
  void take_pod_from(const evictors::Action& action, const evictors::Answer& answer);
  void retry_on_allowance();
  base::Status check_leader() const;

  EvacuationReconciler& shell_;
  const Dependencies& deps_;
  const api::ObjectKey& key_;
  const base::Log log_;
  Observed seen_;
  std::int32_t slot_after_ = 0;             ///< seen_.slot was asked for after that many attempts
  std::optional<StoredEvacuation> stored_;  ///< what the next write is based on
  bool evacuation_is_live_ = false;         ///< stored_ was read or written in this pass
  bool cache_lags_ = false;                 ///< a write based on the cache was refused, or the cache will not do
  bool pod_is_live_ = false;
  bool pod_group_is_live_ = false;  ///< the others' votes were read in this pass
  bool reads_more_ = false;         ///< the evictor looks at more than the pod: nothing tells us when that changes
  bool removed_ = false;
  bool refused_ = false;  ///< the last write
};

}  // namespace controllers
