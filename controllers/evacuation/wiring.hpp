#pragma once

/// Connects informers, the admission queue, the reservations and the work queue of the Evacuation controller.
/// Header-only, so that cmd and tests need not link more libraries.

#include "controllers/admission/queue.hpp"
#include "controllers/admission/reservations.hpp"
#include "controllers/evacuation/reconciler.hpp"
#include "kube/runtime/informer.hpp"
#include "kube/runtime/work_queue.hpp"

namespace controllers::evacuation {

/// Informers that the Evacuation controller subscribes to.
struct Feeds {
  kube::Informer<api::Evacuation>& evacuations;
  kube::Informer<api::Pod>& pods;
  kube::Informer<api::PodDisruptionBudget>& pdbs;
  kube::Informer<api::Node>& nodes;
  kube::Informer<api::PersistentVolumeClaim>& claims;
};

/// Handlers run on the reflector threads; they only count and enqueue.
/// REQUIRES: add_evacuation_indexes() was called; no informer has been run or polled yet; all arguments outlive the
/// informers. The wake callback of the admission queue and of the reservations should be `[&](const api::ObjectKey&
/// key, base::Duration after) { queue.add_after(key, after); }`.
inline void connect_evacuations(const Feeds& feeds, AdmissionQueue& admission, Reservations& reservations,
                                Reconciler& reconciler, kube::WorkQueue& queue) {
  admission.use_reservations(reservations);
  feeds.evacuations.add_handler([&](const auto& before, const auto& after) {
    admission.observe(before.get(), after.get());
    reservations.observe(before.get(), after.get());
    const api::ObjectKey& key = (after ? after : before)->meta.key();
    if (before) {
      queue.add(key);
    } else {
      queue.add_urgent(key);
    }
    for (const api::ObjectKey& other : reconciler.keys_for_pod_group(before.get(), after.get())) queue.add(other);
  });
  feeds.pods.add_handler([&](const auto& before, const auto& after) {
    const api::Pod& pod = after ? *after : *before;
    for (const api::ObjectKey& key : reconciler.keys_for_pod(pod)) queue.add(key);
    const Reconciler::LaterKeys later = reconciler.later_keys_for_pod(pod);
    for (const api::ObjectKey& key : later.keys) queue.add_after(key, later.delay);
  });
  feeds.pdbs.add_handler([&](const auto& before, const auto& after) {
    for (const api::ObjectKey& key : reconciler.on_pdb_changed(before.get(), after.get())) queue.add(key);
  });
  // While an owner works on a request, no other event may wake the reconciler for this pod: its evictor may have
  // nothing to poll (T37).
  feeds.claims.add_handler([&](const auto& before, const auto& after) {
    for (const api::ObjectKey& key : reconciler.on_pvc_changed(before.get(), after.get())) queue.add(key);
  });
  feeds.nodes.add_handler([&](const auto& before, const auto& after) {
    admission.set_node((after ? after : before)->meta.name, after ? std::optional(node_facts(*after)) : std::nullopt);
  });
}

}  // namespace controllers::evacuation
