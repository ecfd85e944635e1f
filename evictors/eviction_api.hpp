#pragma once

#include "evictors/evictor.hpp"

namespace evictors {

/// Calls the Eviction subresource. Refuses pods that announce another protocol (handoff, background eviction), because
/// a plain eviction would bypass the protection that the protocol gives.
class EvictionApi final : public Evictor {
 public:
  static constexpr std::string_view kName = "eviction-api";

  std::string_view name() const override { return kName; }
  EvictorTraits traits() const override { return {.leaves_marks = false}; }
  Probe probe(const EvictorContext& context) const override;
  EvictionStep plan(const EvictorContext& context) const override;
  /// Reports a failure if the pod has announced another protocol since this evictor was chosen. The eviction API has no
  /// remote side.
  Observation observe(const EvictorContext& context) const override;
  Classification classify(const EvictorContext& context, const Action& action, const CallResult& answer) const override;
};

}  // namespace evictors
