#pragma once

#include "evictors/evictor.hpp"

namespace evictors {

/// Annotation-driven departure, for pods that announce it: our two-way handoff (adapter `generic`, annotation
/// handoff.evacuator.dev/mode) or upstream's eviction in the background (adapter `background`, annotation
/// descheduler.alpha.kubernetes.io/request-evict-only). Contract: docs/evictors/annotation.md.
class Annotation final : public Evictor {
 public:
  static constexpr std::string_view kName = "annotation";
  static constexpr std::string_view kGeneric = "generic";
  static constexpr std::string_view kBackground = "background";

  std::string_view name() const override { return kName; }
  api::FieldErrors validate(const std::vector<std::pair<std::string, std::string>>& parameters,
                            const api::FieldPath& path) const override;
  Probe probe(const Context& context) const override;
  Plan plan(const Context& context) const override;
  Observation observe(const Context& context) const override;
  Verdict classify(const Context& context, const Action& action, const Answer& answer) const override;
  bool needs_capacity(const Context& context) const override;
  bool owner_decides(const Context& context) const override;
  std::vector<Action> undo(const Context& context) const override;
  Rollback undone(const Context& context) const override;
  std::vector<Action> cleanup(const Context& context) const override;
};

}  // namespace evictors
