#include "evictors/handoff/adapter.hpp"

#include "evictors/eviction_call.hpp"
#include "evictors/handoff/adapters/adapters.hpp"
#include "evictors/pod_patch.hpp"

namespace evictors::handoff {

const std::vector<std::unique_ptr<Adapter>>& adapters() {
  static const auto kAll = [] {
    std::vector<std::unique_ptr<Adapter>> all;
    all.push_back(generic_adapter());  // first, because the pod announces the protocol itself
    all.push_back(strimzi_adapter());
    all.push_back(couchbase_adapter());
    all.push_back(vitess_adapter());
    all.push_back(cloudnative_pg_adapter());
    all.push_back(pgo_adapter());  // before patroni, because PGO's pods also run Patroni
    all.push_back(patroni_adapter());
    all.push_back(tikv_adapter());
    all.push_back(tikv_v2_adapter());
    all.push_back(none_adapter());  // recognises no pod: only chosen by name or for hooks
    return all;
  }();
  return kAll;
}

const Adapter* find_adapter(std::string_view name) {
  for (const auto& each : adapters()) {
    if (each->name() == name) return each.get();
  }
  return nullptr;
}

Probe owner_probe(const EvictorContext& context, std::string_view adapter, base::seconds total) {
  Probe probe;
  probe.adapter = adapter;
  probe.total = context.evacuation.spec.timeouts.total.value_or(total);
  probe.required = true;
  return probe;
}

EvictionStep evict_now(const EvictorContext& context) {
  if (context.parameter(kStrict, "false") == "true") return evict_as_seen(context);
  return act_now(post_eviction(context));
}

EvictionStep evict_as_seen(const EvictorContext& context) {
  return act_now(post_eviction(context, context.pod->meta.resource_version));
}

const std::string& pod_label(const api::Pod& pod, std::string_view key) { return pod.meta.labels.value(key); }

}  // namespace evictors::handoff
