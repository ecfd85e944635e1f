#pragma once

#include "evictors/evictor.hpp"

namespace evictors {

/// Replacement first: one more replica of the pod's Deployment (or bare ReplicaSet), or a rolling restart of it; the
/// pod leaves once its successor is ready on another node, and the workload gets its number back. For pods whose
/// eviction would be an outage. Only chosen when spec.evictors names it. docs/evictors/surge.md.
class Surge final : public Evictor {
 public:
  static constexpr std::string_view kName = "surge";

  std::string_view name() const override { return kName; }
  bool automatic() const override { return false; }
  api::FieldErrors validate(const std::vector<std::pair<std::string, std::string>>& parameters,
                            const api::FieldPath& path) const override;
  std::vector<Read> reads(const Context& context) const override;
  std::optional<Action> departing(const Context& context) const override;
  Arrival verify(const Context& context) const override;
  Probe probe(const Context& context) const override;
  Plan plan(const Context& context) const override;
  Observation observe(const Context& context) const override;
  Verdict classify(const Context& context, const Action& action, const Answer& answer) const override;
  bool needs_capacity(const Context& context) const override;
  std::vector<Action> undo(const Context& context) const override;
  Rollback undone(const Context& context) const override;
  std::vector<Action> cleanup(const Context& context) const override;
};

}  // namespace evictors
