#pragma once

#include "evictors/evictor.hpp"

namespace evictors::webhook {

/// Out-of-process evictor: a service in the operator's configuration, named by parameter `service`, moves the pod and
/// reports progress. Only chosen if spec.evictors names it. Contract: docs/evictors/webhook.md.
class WebhookEvictor final : public Evictor {
 public:
  static constexpr std::string_view kName = "webhook";

  std::string_view name() const override { return kName; }
  EvictorTraits traits() const override { return {.automatic = false}; }
  api::FieldErrors validate(const Parameters& parameters, const api::FieldPath& path) const override;
  std::vector<Read> reads(const EvictorContext& context) const override;
  Probe probe(const EvictorContext& context) const override;
  EvictionStep plan(const EvictorContext& context) const override;
  Observation observe(const EvictorContext& context) const override;
  Classification classify(const EvictorContext& context, const Action& action, const CallResult& answer) const override;
  /// Returns false: the service does not act for the pod's owner, so the next evictors in the list may take over.
  bool owner_decides(const EvictorContext&) const override { return false; }
  std::vector<Action> undo(const EvictorContext& context) const override;
  Rollback undone(const EvictorContext& context) const override;
};

}  // namespace evictors::webhook
