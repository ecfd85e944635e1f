#include "evictors/handoff/adapters/adapters.hpp"

#include "evictors/classify.hpp"
#include "evictors/handoff/mark.hpp"

namespace evictors::handoff {
namespace {

constexpr std::string_view kV2Component = "pingcap.com/component";

bool is_managed_by_tidb_operator(const api::Pod& pod, std::string_view key) {
  return pod_label(pod, key) == "tidb-operator";
}

/// Pods of operator v2 also have the labels of v1, but v2 ignores the annotation.
bool is_tikv_v1(const api::Pod& pod) {
  return pod_label(pod, "app.kubernetes.io/component") == "tikv" && !pod.meta.labels.contains(kV2Component) &&
         is_managed_by_tidb_operator(pod, "app.kubernetes.io/managed-by");
}

bool is_tikv_v2(const api::Pod& pod) {
  return pod_label(pod, kV2Component) == "tikv" && (is_managed_by_tidb_operator(pod, "pingcap.com/managed-by") ||
                                                    is_managed_by_tidb_operator(pod, "app.kubernetes.io/managed-by"));
}

/// Operator v2 moves the leaders away while the pod terminates: preStop waits for it, within the pod's own grace
/// period of 18 hours. A plain eviction is therefore graceful. A shorter grace period is not.
class TikvV2Adapter final : public Adapter {
 public:
  std::string_view name() const override { return "tikv-v2"; }
  bool recognises(const api::Pod& pod) const override { return is_tikv_v2(pod); }
  bool protects(const EvictorContext&) const override { return true; }
  Probe probe(const EvictorContext& context) const override {
    if (context.evacuation.spec.grace_period_seconds) {
      return unsupported(name(),
                         "spec.gracePeriodSeconds would stop TiKV before its leaders have moved: remove it, the pod "
                         "has its own grace period");
    }
    Probe probe;
    probe.adapter = name();
    probe.required = true;
    return probe;
  }
  EvictionStep plan(const EvictorContext& context) const override {
    if (context.phase() == EvacuationPhase::kPreparing) return {NextMove::kProceed, {}};
    return evict_now(context);
  }
  Classification classify(const EvictorContext&, const Action&, const CallResult& answer) const override {
    return classify_eviction(answer);
  }
};

}  // namespace

std::unique_ptr<Adapter> tikv_v2_adapter() { return std::make_unique<TikvV2Adapter>(); }

std::unique_ptr<Adapter> tikv_adapter() {
  return mark_adapter({.adapter = "tikv",
                       .annotation = "tidb.pingcap.com/evict-leader",
                       .value = "delete-pod",  // "none" would only move the leaders
                       .total = base::seconds(1800),
                       .by_eviction = false,
                       .accepted = {},
                       .recognises = is_tikv_v1});
}

}  // namespace evictors::handoff
