#pragma once

#include "evictors/evictor.hpp"

namespace evictors {

/// Out-of-process evictor: a service in the operator's configuration, named by parameter `service`, moves the pod and
/// tells how far it is. Only chosen when spec.evictors names it. Contract: docs/evictors/webhook.md.
class Webhook final : public Evictor {
 public:
  static constexpr std::string_view kName = "webhook";

  std::string_view name() const override { return kName; }
  bool automatic() const override { return false; }
  api::FieldErrors validate(const std::vector<std::pair<std::string, std::string>>& parameters,
                            const api::FieldPath& path) const override;
  std::vector<Read> reads(const Context& context) const override;
  Probe probe(const Context& context) const override;
  Plan plan(const Context& context) const override;
  Observation observe(const Context& context) const override;
  Verdict classify(const Context& context, const Action& action, const Answer& answer) const override;
  /// The service is of whoever listed it, not the pod's owner: what is listed behind it may follow.
  bool owner_decides(const Context&) const override { return false; }
  std::vector<Action> undo(const Context& context) const override;
  Rollback undone(const Context& context) const override;
  std::vector<Action> cleanup(const Context& context) const override;
};

}  // namespace evictors
