#include "evictors/handoff/adapters/adapters.hpp"

#include <array>

#include "evictors/handoff/mark.hpp"

namespace evictors::handoff {
namespace {

/// Rule of the drain cleaner: kind Kafka, and a name that ends in -kafka or -zookeeper after at least one character.
bool is_strimzi_kafka(const api::Pod& pod) {
  if (pod_label(pod, "strimzi.io/kind") != "Kafka") return false;
  const std::string& name = pod_label(pod, "strimzi.io/name");
  for (const std::string_view suffix : {"-kafka", "-zookeeper"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) return true;
  }
  return false;
}

constexpr std::array kStrimziAccepted = {KnownText{500, "The pod will be rolled by the Strimzi Cluster Operator",
                                                   ResponseClass::kAcceptedInBackground, base::seconds(0)}};

}  // namespace

std::unique_ptr<Adapter> strimzi_adapter() {
  return mark_adapter({.adapter = "strimzi",
                       .annotation = "strimzi.io/manual-rolling-update",
                       .value = "true",
                       .total = base::seconds(1800),  // reconcile every 2 min, then a roll
                       .by_eviction = true,
                       .accepted = kStrimziAccepted,
                       .recognises = is_strimzi_kafka});
}

}  // namespace evictors::handoff
