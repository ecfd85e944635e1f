#pragma once

#include "evictors/evictor.hpp"

namespace evictors {

/// prepare → hand over → evict → verify for stateful workloads: one adapter per workload operator
/// (adapter.hpp), chosen by what the pod shows or by parameter `adapter`. Contract:
/// docs/evictors/stateful-handoff.md.
class StatefulHandoff final : public Evictor {
 public:
  static constexpr std::string_view kName = "stateful-handoff";

  std::string_view name() const override { return kName; }
  api::FieldErrors validate(const std::vector<std::pair<std::string, std::string>>& parameters,
                            const api::FieldPath& path) const override;
  std::vector<Read> reads(const Context& context) const override;
  base::seconds poll_interval(const Context& context) const override;
  Arrival verify(const Context& context) const override;
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
