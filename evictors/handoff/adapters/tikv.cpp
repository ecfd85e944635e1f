#include "evictors/handoff/adapters/adapters.hpp"

#include "evictors/classify.hpp"
#include "evictors/handoff/mark.hpp"

namespace evictors::handoff {
namespace {

bool is_tikv(const api::Pod& pod) {
  return pod_label(pod, "app.kubernetes.io/component") == "tikv" &&
         pod_label(pod, "app.kubernetes.io/managed-by") == "tidb-operator";
}

class TikvV2Adapter final : public Adapter {
 public:
  std::string_view name() const override { return "tikv-v2"; }
  bool recognises(const api::Pod& pod) const override {
    return pod_label(pod, "pingcap.com/component") == "tikv" &&
           pod_label(pod, "app.kubernetes.io/managed-by") == "tidb-operator";
  }
  bool protects(const api::Pod&) const override { return true; }
  Probe probe(const EvictorContext&) const override {
    return unsupported(name(),
                       "TiKV under TiDB operator v2 has no annotation by which it could be asked to move its leaders: "
                       "only operator v1 is supported; to evict it all the same, name evictor eviction-api alone");
  }
  EvictionStep plan(const EvictorContext&) const override { return {NextMove::kWait, {}}; }
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
                       .recognises = is_tikv});
}

}  // namespace evictors::handoff
