#pragma once

#include "evictors/evictor.hpp"

namespace evictors::surge {

/// Creates the replacement first: one more replica of the pod's Deployment (or bare ReplicaSet), or a rolling restart.
/// The pod leaves once its replacement is ready on another node, then the workload gets its replica count back.
/// For pods whose eviction would be an outage. Only chosen if spec.evictors names it. Contract: docs/evictors/surge.md.
class SurgeEvictor final : public Evictor {
 public:
  static constexpr std::string_view kName = "surge";

  std::string_view name() const override { return kName; }
  EvictorTraits traits() const override { return {.automatic = false}; }
  api::FieldErrors validate(const Parameters& parameters, const api::FieldPath& path) const override;
  std::vector<Read> reads(const EvictorContext& context) const override;
  std::optional<Action> departing(const EvictorContext& context) const override;
  Verification verify(const EvictorContext& context) const override;
  Probe probe(const EvictorContext& context) const override;
  EvictionStep plan(const EvictorContext& context) const override;
  Observation observe(const EvictorContext& context) const override;
  Classification classify(const EvictorContext& context, const Action& action, const CallResult& answer) const override;
  bool needs_capacity(const EvictorContext& context) const override;
  std::vector<Action> undo(const EvictorContext& context) const override;
  Rollback undone(const EvictorContext& context) const override;
  std::vector<Action> cleanup(const EvictorContext& context) const override;
};

}  // namespace evictors::surge
