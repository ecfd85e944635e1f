#pragma once

#include "evictors/evictor.hpp"

namespace evictors::eviction_request {

/// Evicts by Kubernetes' native EvictionRequest API (KEP-4563): the pod's own responders make it leave, and the API
/// server's controller activates one responder after the other. Chosen automatically for pods with
/// spec.evictionResponders if the API is served, and for any pod if listed in spec.evictors. If the controller does not
/// notice the request within parameter livenessSeconds, the API is considered dead and the next evictor is tried.
/// Success is decided by the pod's state, never by a condition. Contract: docs/evictors/eviction-request.md.
class EvictionByRequest final : public Evictor {
 public:
  static constexpr std::string_view kName = "eviction-request";

  std::string_view name() const override { return kName; }
  api::FieldErrors validate(const Parameters& parameters, const api::FieldPath& path) const override;
  std::vector<Read> reads(const EvictorContext& context) const override;
  Probe probe(const EvictorContext& context) const override;
  EvictionStep plan(const EvictorContext& context) const override;
  Observation observe(const EvictorContext& context) const override;
  Classification classify(const EvictorContext& context, const Action& action, const CallResult& answer) const override;
  std::vector<Action> undo(const EvictorContext& context) const override;
  Rollback undone(const EvictorContext& context) const override;
  std::vector<Action> cleanup(const EvictorContext& context) const override;
  Verification verify(const EvictorContext& context) const override;
};

/// Returns "evac-<uid of the Evacuation>". The fixed name ensures at most one EvictionRequest per Evacuation, even
/// after lost answers and retries.
std::string eviction_request_name(const api::Evacuation& evacuation);

}  // namespace evictors::eviction_request
