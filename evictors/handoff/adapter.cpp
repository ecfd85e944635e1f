#include "evictors/handoff/adapter.hpp"

#include "evictors/eviction_call.hpp"
#include "evictors/handoff/adapters/cloudnative_pg.hpp"
#include "evictors/handoff/adapters/couchbase.hpp"
#include "evictors/handoff/adapters/generic.hpp"
#include "evictors/handoff/adapters/none.hpp"
#include "evictors/handoff/adapters/patroni.hpp"
#include "evictors/handoff/adapters/pgo.hpp"
#include "evictors/handoff/adapters/strimzi.hpp"
#include "evictors/handoff/adapters/tikv.hpp"
#include "evictors/handoff/adapters/vitess.hpp"
#include "evictors/pod_patch.hpp"

namespace evictors {

const std::vector<std::unique_ptr<HandoffAdapter>>& handoff_adapters() {
  static const auto kAll = [] {
    std::vector<std::unique_ptr<HandoffAdapter>> all;
    all.push_back(generic_adapter());  // the pod speaks for itself
    all.push_back(strimzi_adapter());
    all.push_back(couchbase_adapter());
    all.push_back(vitess_adapter());
    all.push_back(cloudnative_pg_adapter());
    all.push_back(patroni_adapter());
    all.push_back(pgo_adapter());
    all.push_back(tikv_adapter());
    all.push_back(none_adapter());  // recognises nothing: chosen by name or for hooks
    return all;
  }();
  return kAll;
}

const HandoffAdapter* find_handoff_adapter(std::string_view name) {
  for (const auto& each : handoff_adapters()) {
    if (each->name() == name) return each.get();
  }
  return nullptr;
}

Probe owner_probe(const Context& context, std::string_view adapter, base::seconds total) {
  Probe probe;
  probe.adapter = adapter;
  probe.total = context.evacuation.spec.timeouts.total.value_or(total);
  probe.required = true;
  return probe;
}

Probe handoff_unsupported(std::string_view adapter, std::string reason) {
  Probe probe;
  probe.support = Support::kUnsupported;
  probe.adapter = adapter;
  probe.reason = std::move(reason);
  return probe;
}

Plan evict_now(const Context& context) {
  const bool strict = context.parameter(kStrict, "false") == "true";
  return act_now(post_eviction(context, strict ? context.pod->meta.resource_version : std::string()));
}

const std::string& pod_label(const api::Pod& pod, std::string_view key) { return pod.meta.labels.value(key); }

}  // namespace evictors
