#pragma once

#include "evictors/evictor.hpp"

namespace evictors::native {

/// Kubernetes' native EvictionRequest API (KEP-4563): the pod's own responders make it leave, the API server's
/// controller passes the turn from one to the next. Chosen by itself for pods with spec.evictionResponders where the
/// API is served; listed in spec.evictors for any pod. As long as nobody takes notice of the request
/// (parameter livenessSeconds) it counts as dead and the next evictor has its turn. The pod decides what happened,
/// never a condition. Contract: docs/evictors/eviction-request.md.
class EvictionByRequest final : public Evictor {
 public:
  static constexpr std::string_view kName = "eviction-request";

  std::string_view name() const override { return kName; }
  api::FieldErrors validate(const std::vector<std::pair<std::string, std::string>>& parameters,
                            const api::FieldPath& path) const override;
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

/// "evac-<uid of the Evacuation>": one EvictionRequest at most, whatever is lost or repeated.
std::string eviction_request_name(const api::Evacuation& evacuation);

}  // namespace evictors::native
