#pragma once

#include "evictors/evictor.hpp"

namespace evictors::kubevirt {

/// Evicts virtual machines of KubeVirt: a launcher pod leaves by live migration. In mode Eviction, the evictor calls
/// the eviction subresource, which KubeVirt answers by migrating. In mode Migration, it creates a
/// VirtualMachineInstanceMigration. Contract: docs/evictors/kubevirt.md.
class KubeVirtEvictor final : public Evictor {
 public:
  static constexpr std::string_view kName = "kubevirt";
  // Names of adapters.
  static constexpr std::string_view kEviction = "eviction";
  static constexpr std::string_view kMigration = "migration";
  static constexpr std::string_view kExternal = "external";

  std::string_view name() const override { return kName; }
  api::FieldErrors validate(const Parameters& parameters, const api::FieldPath& path) const override;
  std::vector<Read> reads(const EvictorContext& context) const override;
  Verification verify(const EvictorContext& context) const override;
  Probe probe(const EvictorContext& context) const override;
  EvictionStep plan(const EvictorContext& context) const override;
  Observation observe(const EvictorContext& context) const override;
  Classification classify(const EvictorContext& context, const Action& action, const CallResult& answer) const override;
  bool needs_capacity(const EvictorContext& context) const override;
  bool owner_decides(const EvictorContext& context) const override;
  std::vector<Action> undo(const EvictorContext& context) const override;
  Rollback undone(const EvictorContext& context) const override;
};

}  // namespace evictors::kubevirt
