#pragma once

/// Connects informers, the admission queue and the work queue of the Evacuation controller. Header only, so that
/// whoever assembles a process (cmd, tests) links nothing more.

#include "controllers/admission_queue.hpp"
#include "controllers/evacuation_reconciler.hpp"
#include "kube/informer.hpp"
#include "kube/work_queue.hpp"

namespace controllers {

/// Handlers run on the reflectors' threads: they count and enqueue, nothing more.
/// REQUIRES: add_evacuation_indexes() was called; before the first run() or poll() of the informers; all outlive them.
/// The admission queue's wake callback should be `[&](const api::ObjectKey& key, base::Duration after) {
/// queue.add_after(key, after); }`.
inline void connect_evacuations(kube::Informer<api::Evacuation>& evacuations, kube::Informer<api::Pod>& pods,
                                kube::Informer<api::PodDisruptionBudget>& pdbs, AdmissionQueue& admission,
                                EvacuationReconciler& reconciler, kube::WorkQueue& queue) {
  evacuations.add_handler([&](const auto& before, const auto& after) {
    admission.observe(before.get(), after.get());
    const api::ObjectKey& key = (after ? after : before)->meta.key();
    if (before) {
      queue.add(key);
    } else {
      queue.add_urgent(key);
    }
    for (const api::ObjectKey& other : reconciler.keys_for_gang(before.get(), after.get())) queue.add(other);
  });
  pods.add_handler([&](const auto& before, const auto& after) {
    for (const api::ObjectKey& key : reconciler.keys_for_pod(after ? *after : *before)) queue.add(key);
  });
  pdbs.add_handler([&](const auto& before, const auto& after) {
    for (const api::ObjectKey& key : reconciler.on_pdb_changed(before.get(), after.get())) queue.add(key);
  });
}

}  // namespace controllers
