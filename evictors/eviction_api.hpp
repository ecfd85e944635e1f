#pragma once

#include "evictors/evictor.hpp"

namespace evictors {

/// The plain Eviction subresource. Refuses pods that want to be asked another way (handoff, background eviction): for
/// them a bare eviction would break what the other way protects.
class EvictionApi final : public Evictor {
 public:
  static constexpr std::string_view kName = "eviction-api";

  std::string_view name() const override { return kName; }
  bool leaves_marks() const override { return false; }
  Probe probe(const EvictorContext& context) const override;
  EvictionStep plan(const EvictorContext& context) const override;
  /// Nobody works on it, but its owner may have claimed the pod since this evictor was chosen.
  Observation observe(const EvictorContext& context) const override;
  Classification classify(const EvictorContext& context, const Action& action, const CallResult& answer) const override;
};

}  // namespace evictors
