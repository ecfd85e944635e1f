#pragma once

/// Connects cache, queue and reconciler of the responder of native Evictions. Header only, for whoever assembles a
/// process (the operator, tests).

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
    kube::Informer<api::Pod>& pods;                ///< the same
    std::function<bool()> may_act;
    base::Log log;
    KeySource& keys = keys_in_memory();
  };

  /// All references must outlive it.
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
      if (!leaves) return;  // nothing else about a pod matters here
      for (const api::ObjectKey& key : reconciler.keys_for(after ? *after : *before)) queue.add(key);
    });
  }

  kube::Informer<api::NativeEviction> evictions;
  kube::WorkQueue queue;
  NativeResponderReconciler reconciler;
  kube::WorkerCounts counts;
};

}  // namespace controllers
