#include "evictors/handoff/adapters/adapters.hpp"

#include <array>

#include "evictors/handoff/mark.hpp"

namespace evictors::handoff {
namespace {

/// The reschedule hook only checks app=couchbase, which pods without an operator may also have. Require the operator's
/// own label or an owner of its kind, because no operator would answer for other pods.
bool is_couchbase_server(const api::Pod& pod) {
  if (pod_label(pod, "app") != "couchbase") return false;
  const api::OwnerReference* owner = pod.meta.controller();
  return pod.meta.labels.contains("couchbase_cluster") || (owner && owner->kind == "CouchbaseCluster");
}

/// A 404 is not an acceptance: `Pod has been rescheduled` also appears for a running pod with the same name (classify:
/// GoneMaybe).
constexpr std::array kCouchbaseAccepted = {
    KnownText{429, "Reschedule annotation added to pod", ResponseClass::kAcceptedInBackground, base::seconds(0)},
    KnownText{429, "Pod waiting to be rescheduled", ResponseClass::kAcceptedInBackground, base::seconds(0)},
    KnownText{404, "Pod has been rescheduled", ResponseClass::kGoneMaybe, base::seconds(0)}};

}  // namespace

std::unique_ptr<Adapter> couchbase_adapter() {
  return mark_adapter({.adapter = "couchbase",
                       .annotation = "cao.couchbase.com/reschedule",
                       .value = "true",
                       .total = base::seconds(3600),
                       .surge_pod = true,  // swap rebalance: the new node joins first
                       .by_eviction = true,
                       .accepted = kCouchbaseAccepted,
                       .recognises = is_couchbase_server});
}

}  // namespace evictors::handoff
