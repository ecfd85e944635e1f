#pragma once

/// Operators of stateful workloads for which the evictor stateful-handoff has adapters, as visible from outside
/// (wire-protocols.md#workload-operators). Their pods are recognized by labels; a StatefulSet substitutes for the
/// operators' own sets.

#include <map>
#include <memory>
#include <set>
#include <string>

#include "simulator/actor.hpp"
#include "simulator/api/server.hpp"
#include "simulator/journal.hpp"
#include "simulator/store.hpp"

namespace simulator {

class Cluster;

/// Strimzi's drain cleaner. Annotates pods with strimzi.io/kind=Kafka and a name ending in -kafka or -zookeeper, and
/// denies their eviction with 500 `The pod will be rolled by the Strimzi Cluster Operator`.
Webhook strimzi_webhook(Store& store);

/// Couchbase's reschedule hook for label app=couchbase: 429 `Reschedule annotation added to pod`, then 429 `Pod waiting
/// to be rescheduled`, and 404 once the name belongs to another pod. With the pod's annotation behaviour::kSaysGone =
/// n, it returns 404 for the living pod n times.
Webhook couchbase_webhook(Store& store);

/// Vitess' operator. Responds to drain.planetscale.com/started with acknowledged and finished, and removes both when
/// started is removed. Controlled by the pod's annotation behaviour::kVitess: "ack=1s, finish=20s, withdraw=5s"
/// (finished is removed that time after it was set, and set again after another finish=); default ack=1s, finish=10s.
class VitessOperator final : public Actor {
 public:
  explicit VitessOperator(Store& store);

  std::string_view name() const override { return "vitess-operator"; }
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override { return agenda_.next(); }

 private:
  struct Drain {
    std::string uid;
    base::TimePoint started{};
    std::optional<base::TimePoint> finished;
    bool withdrawn = false;
    base::TimePoint withdrawn_at{};
  };
  bool look_at(const api::ObjectKey& key, base::TimePoint now);
  bool clear(const api::ObjectKey& key);
  bool advance(const api::ObjectKey& key, const api::Json& pod, Drain& drain, base::TimePoint now);
  bool annotate(const api::ObjectKey& key, std::string_view annotation, bool present, base::TimePoint now);

  Store& store_;
  Journal journal_;
  std::set<api::ObjectKey> dirty_;
  std::map<api::ObjectKey, Drain> drains_;
  Agenda<api::ObjectKey> agenda_;
};

/// Adds all these operators, their webhooks and TiDB's operator to the cluster. Call before any traffic.
void add_stateful_owners(Cluster& cluster, ApiServer& server);

}  // namespace simulator
