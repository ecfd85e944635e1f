#pragma once

#include "evictors/evictor.hpp"

namespace evictors::handoff {

/// Annotation-driven eviction of pods that announce it: Evacuator's two-way handoff (adapter `generic`, annotation
/// handoff.evacuator.dev/mode) or upstream's eviction in the background (adapter `background`, annotation
/// descheduler.alpha.kubernetes.io/request-evict-only). Contract: docs/evictors/annotation.md.
class AnnotationEvictor final : public Evictor {
 public:
  static constexpr std::string_view kName = "annotation";
  static constexpr std::string_view kGeneric = "generic";
  static constexpr std::string_view kBackground = "background";

  std::string_view name() const override { return kName; }
  api::FieldErrors validate(const Parameters& parameters, const api::FieldPath& path) const override;
  Probe probe(const EvictorContext& context) const override;
  EvictionStep plan(const EvictorContext& context) const override;
  Observation observe(const EvictorContext& context) const override;
  Classification classify(const EvictorContext& context, const Action& action, const CallResult& answer) const override;
  bool needs_capacity(const EvictorContext& context) const override;
  bool owner_decides(const EvictorContext& context) const override;
  std::vector<Action> undo(const EvictorContext& context) const override;
  Rollback undone(const EvictorContext& context) const override;
  std::vector<Action> cleanup(const EvictorContext& context) const override;
};

}  // namespace evictors::handoff
