#pragma once

#include "evictors/evictor.hpp"

namespace evictors::handoff {

/// prepare → hand over → evict → verify for stateful workloads: one adapter per workload operator (adapter.hpp), chosen
/// by the pod's labels and annotations or by parameter `adapter`. Contract: docs/evictors/stateful-handoff.md.
class StatefulHandoff final : public Evictor {
 public:
  static constexpr std::string_view kName = "stateful-handoff";

  std::string_view name() const override { return kName; }
  api::FieldErrors validate(const Parameters& parameters, const api::FieldPath& path) const override;
  std::vector<Read> reads(const EvictorContext& context) const override;
  base::seconds poll_interval(const EvictorContext& context) const override;
  std::vector<Action> leftovers(const EvictorContext& context) const override;
  bool awaits_cleanup(const EvictorContext& context) const override;
  Verification verify(const EvictorContext& context) const override;
  Probe probe(const EvictorContext& context) const override;
  EvictionStep plan(const EvictorContext& context) const override;
  Observation observe(const EvictorContext& context) const override;
  Classification classify(const EvictorContext& context, const Action& action, const CallResult& answer) const override;
  bool needs_capacity(const EvictorContext& context) const override;
  bool owner_decides(const EvictorContext& context) const override;
  std::string advice(const EvictorContext& context) const override;
  base::seconds call_timeout(const EvictorContext& context) const override;
  std::string remains(const EvictorContext& context) const override;
  bool is_in_service(const EvictorContext& context, const api::Pod& replacement) const override;
  std::vector<Action> undo(const EvictorContext& context) const override;
  Rollback undone(const EvictorContext& context) const override;
  std::vector<Action> cleanup(const EvictorContext& context) const override;

 private:
  static Verification verify_hooks(const EvictorContext& context);
};

}  // namespace evictors::handoff
