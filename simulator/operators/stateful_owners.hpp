#pragma once

/// Operators of stateful workloads that the evictor stateful-handoff has adapters for, as far as an outsider sees them
/// (wire-protocols.md#workload-operators). Put pods under them with their labels; a StatefulSet stands in for the
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

/// Strimzi's drain cleaner: pods with strimzi.io/kind=Kafka and a name that ends in -kafka or -zookeeper are annotated
/// and refused with 500 `The pod will be rolled by the Strimzi Cluster Operator`.
Webhook strimzi_webhook(Store& store);

/// Couchbase's reschedule hook on label app=couchbase: 429 `Reschedule annotation added to pod`, then 429 `Pod waiting
/// to be rescheduled`, and 404 once the name belongs to another pod. With the pod's annotation behaviour
/// annotations::kSaysGone = n it says 404 that many times of a pod that lives.
Webhook couchbase_webhook(Store& store);

/// Vitess' operator: answers drain.planetscale.com/started with acknowledged and finished, and clears both when started
/// is taken off. By the pod's annotation behaviour::kVitess: "ack=1s, finish=20s, withdraw=5s" (finished
/// goes again that long after it was set, and comes back after another finish=); default ack=1s, finish=10s.
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

/// All of them, their webhooks and TiDB's operator in that cluster. Before any traffic.
void add_stateful_owners(Cluster& cluster, ApiServer& server);

}  // namespace simulator
