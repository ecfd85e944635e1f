#pragma once

/// How the evictor `stateful-handoff` speaks to one kind of workload operator (wire-protocols.md#workload-operators).
/// Internal to evictors/. Adapters are never asked about dry runs, and must bear hostile labels, annotations and
/// documents.

#include <memory>
#include <string_view>
#include <vector>

#include "evictors/evictor.hpp"

namespace evictors::handoff {

/// Parameters of stateful-handoff.
inline constexpr std::string_view kAdapterParameter = "adapter";
inline constexpr std::string_view kRequestParameter = "request";        ///< annotation | eviction
inline constexpr std::string_view kSwitchoverParameter = "switchover";  ///< "true": may write beside the pod
inline constexpr std::string_view kServiceParameter = "service";        ///< Patroni through a configured service
inline constexpr std::string_view kClusterLabelParameter =
    "clusterLabel";                                                   ///< Patroni: label key of the cluster's name
inline constexpr std::string_view kRoleLabelParameter = "roleLabel";  ///< Patroni: label key of the role

/// An evictor for the pods of one operator. name() is the parameter `adapter` and status.adapter. StatefulHandoff asks
/// it for reads(), cleanup_reads(), probe(), plan(), observe(), classify(), needs_capacity(), undo(), undone(),
/// remains(), advice(), cleanup() and awaits_cleanup(), always with a pod, for call_timeout() and is_in_service() with
/// or without one, and for leftover_reads(), leftovers() and awaits_leftovers() without one.
class Adapter : public Evictor {
 public:
  /// Is this pod one of that operator's? By what the pod itself shows.
  virtual bool recognises(const api::Pod& pod) const = 0;
  /// Whether the pod may only leave by this adapter, although the adapter may not be able to move it now: no evictor
  /// that comes after stateful-handoff takes over. REQUIRES: context.pod, which it recognises.
  virtual bool protects(const EvictorContext&) const { return false; }
  /// What cleanup() needs to see once the Evacuation has ended and the pod has stayed.
  virtual std::vector<Read> cleanup_reads(const EvictorContext&) const { return {}; }
  /// What leftovers() needs to see once the pod has left.
  virtual std::vector<Read> leftover_reads(const EvictorContext&) const { return {}; }
  /// It is not known yet whether there are leftovers().
  virtual bool awaits_leftovers(const EvictorContext&) const { return false; }
};

/// Every adapter, in the order in which they look at a pod.
const std::vector<std::unique_ptr<Adapter>>& adapters();
/// nullptr: there is none of that name.
const Adapter* find_adapter(std::string_view name);

// --- shared by adapters

/// A supported Probe: the adapter's total timeout unless the spec sets one; never evicted without the owner's word.
Probe owner_probe(const EvictorContext& context, std::string_view adapter, base::seconds total);
Probe unsupported(std::string_view adapter, std::string reason);
/// The final eviction, with the pod's resourceVersion as a precondition when the parameter `strict` says so.
EvictionStep evict_now(const EvictorContext& context);
/// The final eviction of the pod as it was judged: the API server refuses it once the pod has changed.
EvictionStep evict_as_seen(const EvictorContext& context);
inline EvictionStep act_now(Action action) { return {NextMove::kAct, std::move(action)}; }
/// The pod's label, or "".
const std::string& pod_label(const api::Pod& pod, std::string_view key);

}  // namespace evictors::handoff
