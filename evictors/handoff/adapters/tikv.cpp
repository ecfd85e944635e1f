#include "evictors/handoff/adapters/adapters.hpp"

#include "evictors/handoff/mark.hpp"

namespace evictors::handoff {
namespace {

bool is_tikv(const api::Pod& pod) {
  return pod_label(pod, "app.kubernetes.io/component") == "tikv" &&
         pod_label(pod, "app.kubernetes.io/managed-by") == "tidb-operator";
}

}  // namespace

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
