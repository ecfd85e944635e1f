#pragma once

/// Connects cache, queue and reconciler of the EvictionRequest responder. Header-only, for the operator and tests.

#include "controllers/evacuation/eviction_request/responder.hpp"
#include "kube/runtime/informer.hpp"
#include "kube/runtime/work_queue.hpp"
#include "kube/runtime/worker.hpp"

namespace controllers {

class NativeResponder {
 public:
  struct Dependencies {
    kube::Client& client;
    const base::Clock& clock;
    kube::Informer<api::Evacuation>& evacuations;  ///< not yet run or polled
    kube::Informer<api::Pod>& pods;                ///< not yet run or polled
    std::function<bool()> may_act;
    base::Log log;
    KeySource& keys = process_keys();
  };

  /// All references must outlive the object.
  explicit NativeResponder(Dependencies with)
      : evictions(with.client, with.clock, kube::kNativeEvictions, api::decode_native_eviction,
                  native_responder_options(), with.log),
        queue(with.clock),
        reconciler({with.client, with.clock, evictions.store(), with.evacuations.store(), std::move(with.may_act),
                    with.log, with.keys}) {
    add_native_responder_indexes(evictions.store(), with.evacuations.store());
    evictions.add_handler(
        [this](const auto& before, const auto& after) { queue.add((after ? after : before)->meta.key()); });
    with.evacuations.add_handler([this](const auto& before, const auto& after) {
      for (const api::ObjectKey& key : reconciler.keys_for(after ? *after : *before)) queue.add(key);
    });
    with.pods.add_handler([this](const auto& before, const auto& after) {
      const bool leaves = !after || after->meta.is_terminating() || after->is_terminal();
      if (!leaves) return;  // other changes of a pod do not matter here
      for (const api::ObjectKey& key : reconciler.keys_for(after ? *after : *before)) queue.add(key);
    });
  }

  kube::Informer<api::NativeEviction> evictions;
  kube::WorkQueue queue;
  ResponderReconciler reconciler;
  kube::WorkerCounts counts;
};

}  // namespace controllers
