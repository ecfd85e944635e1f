#pragma once

/// How the evictor `stateful-handoff` speaks to one kind of workload operator (wire-protocols.md#workload-operators).
/// Internal to evictors/. Adapters are pure like evictors, are never asked about dry runs, and must bear hostile
/// labels, annotations and documents.

#include <memory>
#include <string_view>
#include <vector>

#include "evictors/evictor.hpp"

namespace evictors {

/// Parameters of stateful-handoff.
inline constexpr std::string_view kAdapterParameter = "adapter";
inline constexpr std::string_view kRequestParameter = "request";        ///< annotation | eviction
inline constexpr std::string_view kSwitchoverParameter = "switchover";  ///< "true": may write beside the pod
inline constexpr std::string_view kServiceParameter = "service";        ///< Patroni through a configured service

class HandoffAdapter {
 public:
  virtual ~HandoffAdapter() = default;

  /// As in the parameter `adapter` and in status.adapter.
  virtual std::string_view name() const = 0;
  /// Is this pod one of that operator's? By what the pod itself shows.
  virtual bool recognises(const api::Pod& pod) const = 0;

  /// As in Evictor; REQUIRES: context.pod != nullptr.
  virtual std::vector<Read> reads(const Context&) const { return {}; }
  virtual Probe probe(const Context& context) const = 0;
  virtual Plan plan(const Context& context) const = 0;
  virtual Observation observe(const Context& context) const = 0;
  virtual Verdict classify(const Context& context, const Action& action, const Answer& answer) const = 0;
  virtual bool needs_capacity(const Context&) const { return false; }
  virtual std::vector<Action> undo(const Context&) const { return {}; }
  virtual Rollback undone(const Context&) const { return Rollback::kNothingToDo; }
  virtual std::vector<Action> cleanup(const Context&) const { return {}; }
};

/// Every adapter, in the order in which they look at a pod.
const std::vector<std::unique_ptr<HandoffAdapter>>& handoff_adapters();
/// nullptr: there is none of that name.
const HandoffAdapter* find_handoff_adapter(std::string_view name);

// --- shared by adapters

/// A supported Probe: the adapter's total timeout unless the spec sets one; never evicted without the owner's word.
Probe owner_probe(const Context& context, std::string_view adapter, base::seconds total);
Probe handoff_unsupported(std::string_view adapter, std::string reason);
/// The final eviction, with the pod's resourceVersion as a precondition when the parameter `strict` says so.
Plan evict_now(const Context& context);
inline Plan act_now(Action action) { return {Next::kAct, std::move(action)}; }
/// The pod's label, or "".
const std::string& pod_label(const api::Pod& pod, std::string_view key);

}  // namespace evictors
