#pragma once

#include "evictors/evictor.hpp"

namespace evictors {

/// The plain Eviction subresource. Refuses pods that want to be asked another way (handoff, background eviction): for
/// them a bare eviction would break what the other way protects.
class EvictionApi final : public Evictor {
 public:
  static constexpr std::string_view kName = "eviction-api";

  std::string_view name() const override { return kName; }
  api::FieldErrors validate(const std::vector<std::pair<std::string, std::string>>& parameters,
                            const api::FieldPath& path) const override;
  Probe probe(const Context& context) const override;
  Plan plan(const Context& context) const override;
  Observation observe(const Context& context) const override;
  Verdict classify(const Context& context, const Action& action, const Answer& answer) const override;
  std::vector<Action> undo(const Context& context) const override;
  Rollback undone(const Context& context) const override;
  std::vector<Action> cleanup(const Context& context) const override;
};

}  // namespace evictors
