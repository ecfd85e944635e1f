#pragma once

/// Adapter interface of the evictor `stateful-handoff`, one adapter per workload operator
/// (wire-protocols.md#workload-operators). Internal to evictors/. Adapters are never called for dry runs. They must
/// tolerate hostile labels, annotations and documents.

#include <memory>
#include <string_view>
#include <vector>

#include "evictors/evictor.hpp"

namespace evictors::handoff {

/// Parameters of stateful-handoff.
inline constexpr std::string_view kAdapterParameter = "adapter";
inline constexpr std::string_view kRequestParameter = "request";        ///< annotation | eviction
inline constexpr std::string_view kSwitchoverParameter = "switchover";  ///< "true" allows writes to other objects
inline constexpr std::string_view kServiceParameter = "service";        ///< reach Patroni through a configured service
inline constexpr std::string_view kClusterLabelParameter =
    "clusterLabel";                                                   ///< Patroni: label key of the cluster's name
inline constexpr std::string_view kRoleLabelParameter = "roleLabel";  ///< Patroni: label key of the role

/// Evictor for the pods of one operator. name() is the value of parameter `adapter` and of status.adapter.
/// StatefulHandoff calls the adapter as follows.
/// * With a pod: reads(), cleanup_reads(), probe(), plan(), observe(), classify(), needs_capacity(), owner_decides(),
/// undo(),
///   undone(), remains(), advice(), cleanup() and awaits_cleanup().
/// * With or without a pod: call_timeout() and is_in_service().
/// * Without a pod: leftover_reads(), leftovers() and awaits_leftovers().
class Adapter : public Evictor {
 public:
  /// Returns true if the pod itself shows that it belongs to this operator.
  virtual bool recognises(const api::Pod& pod) const = 0;
  /// Returns true if the pod may only leave by this adapter, even while the adapter cannot move it. Evictors after
  /// stateful-handoff then do not take over. REQUIRES: a context.pod that the adapter recognises.
  virtual bool protects(const EvictorContext&) const { return false; }
  /// Returns the reads that cleanup() needs once the Evacuation has ended and the pod has stayed.
  virtual std::vector<Read> cleanup_reads(const EvictorContext&) const { return {}; }
  /// Returns the reads that leftovers() needs once the pod has left.
  virtual std::vector<Read> leftover_reads(const EvictorContext&) const { return {}; }
  /// Returns true while it is unknown whether there are leftovers().
  virtual bool awaits_leftovers(const EvictorContext&) const { return false; }
};

/// Returns every adapter, in the order in which they are tried on a pod.
const std::vector<std::unique_ptr<Adapter>>& adapters();
/// Returns nullptr if there is no adapter of that name.
const Adapter* find_adapter(std::string_view name);

// --- helpers shared by adapters

/// Returns a supported Probe that requires the owner's consent and uses `total` as timeout unless the spec sets one.
Probe owner_probe(const EvictorContext& context, std::string_view adapter, base::seconds total);
/// Returns the final eviction, with the pod's resourceVersion as a precondition if parameter `strict` is set.
EvictionStep evict_now(const EvictorContext& context);
/// Returns the final eviction with the pod's resourceVersion as a precondition: the API server refuses it if the pod
/// has changed.
EvictionStep evict_as_seen(const EvictorContext& context);
inline EvictionStep act_now(Action action) { return {NextMove::kAct, std::move(action)}; }
/// Returns the value of the pod's label, or "".
const std::string& pod_label(const api::Pod& pod, std::string_view key);

}  // namespace evictors::handoff
