#include "simulator/operators/stateful_owners.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/api/server.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/cluster.hpp"
#include "simulator/keyed_actor.hpp"
#include "simulator/operators/pod_restarter.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/text.hpp"

namespace simulator {
namespace {

using api::Json;

constexpr RollMark kStrimziMark{"strimzi-cluster-operator", "strimzi.io/manual-rolling-update", "true",
                                base::seconds(120)};
constexpr RollMark kCouchbaseMark{"couchbase-operator", "cao.couchbase.com/reschedule", "true", base::seconds(60)};
constexpr RollMark kTikvMark{"tidb-operator", "tidb.pingcap.com/evict-leader", "delete-pod", base::seconds(30)};

bool is_eviction(const AdmissionRequest& request) {
  return request.subresource == "eviction" && request.resource.plural == "pods";
}

std::string pod_label(const Json& pod, std::string_view key) { return api::text_at(pod, {"metadata", "labels", key}); }

bool is_kafka(const Json& pod) {
  const std::string name = pod_label(pod, "strimzi.io/name");
  const bool named =
      (name.ends_with("-kafka") && name.size() > 6) || (name.ends_with("-zookeeper") && name.size() > 10);
  return named && pod_label(pod, "strimzi.io/kind") == "Kafka";
}

bool has_mark(const Json& pod, const RollMark& mark) {
  return api::text_at(pod, {"metadata", "annotations", mark.annotation}) == mark.value;
}

std::optional<Denial> review_kafka(Store& store, const AdmissionRequest& request) {
  const Object pod = is_eviction(request) ? store.get(kube::kPods, request.key) : nullptr;
  if (!pod || !is_kafka(*pod) || is_terminating(*pod)) return std::nullopt;
  if (!request.dry_run && !has_mark(*pod, kStrimziMark)) {
    set_pod_annotation(store, request.key, uid_of(*pod), kStrimziMark.annotation, kStrimziMark.value);
  }
  return Denial{500, "The pod will be rolled by the Strimzi Cluster Operator", "", false};
}

/// State of the hook: the marked pod of each name, and the number of false 404 responses per pod.
struct CouchbaseMemory {
  std::map<api::ObjectKey, std::string> tracked;
  std::map<std::string, int> false_404_count;
};

std::optional<Denial> review_couchbase(Store& store, CouchbaseMemory& memory, const AdmissionRequest& request) {
  const Object pod = is_eviction(request) ? store.get(kube::kPods, request.key) : nullptr;
  if (!pod || pod_label(*pod, "app") != "couchbase") return std::nullopt;
  const std::string uid = uid_of(*pod);
  if (memory.false_404_count[uid] < behaviour::integer_of(*pod, behaviour::kSaysGone, 0)) {
    ++memory.false_404_count[uid];
    return Denial{404, "Pod has been rescheduled", "NotFound", false};
  }
  if (const auto known = memory.tracked.find(request.key); known != memory.tracked.end() && known->second != uid) {
    memory.tracked.erase(known);
    return Denial{404, "Pod has been rescheduled with the same name", "NotFound", false};
  }
  if (has_mark(*pod, kCouchbaseMark)) return Denial{429, "Pod waiting to be rescheduled", "TooManyRequests", false};
  if (!request.dry_run) {
    set_pod_annotation(store, request.key, uid, kCouchbaseMark.annotation, kCouchbaseMark.value);
    memory.tracked[request.key] = uid;
  }
  return Denial{429, "Reschedule annotation added to pod", "TooManyRequests", false};
}

constexpr std::string_view kVitessStarted = "drain.planetscale.com/started";
constexpr std::string_view kVitessAcknowledged = "drain.planetscale.com/acknowledged";
constexpr std::string_view kVitessFinished = "drain.planetscale.com/finished";

struct VitessScript {
  base::Duration ack = base::seconds(1);
  base::Duration finish = base::seconds(10);
  std::optional<base::Duration> withdraw;
};

VitessScript vitess_script(const Json& pod) {
  VitessScript script;
  const std::string text = api::text_at(pod, {"metadata", "annotations", behaviour::kVitess});
  for (const std::string_view item : split(text, ',')) {
    const auto [key, value] = split_pair(item, '=');
    const auto time = behaviour::parse_duration(value);
    if (key == "ack" && time) script.ack = *time;
    if (key == "finish" && time) script.finish = *time;
    if (key == "withdraw") script.withdraw = time;
  }
  return script;
}

/// Vitess' operator. Responds to drain.planetscale.com/started with acknowledged and finished, and removes both when
/// started is removed. Controlled by the pod's annotation behaviour::kVitess: "ack=1s, finish=20s, withdraw=5s"
/// (finished is removed that time after it was set, and set again after another finish=); default ack=1s, finish=10s.
class VitessOperator final : public KeyedActor<api::ObjectKey> {
 public:
  explicit VitessOperator(Store& store) : KeyedActor(store) {
    journal_.follow(kube::kPods, [this](const Change& change) {
      if (change.kind == ChangeKind::kDeleted) {
        drains_.erase(change.key);
        agenda_.drop(change.key);
        return;
      }
      dirty_.insert(change.key);
    });
  }

  std::string_view name() const override { return "vitess-operator"; }

 private:
  struct Drain {
    std::string uid;
    base::TimePoint started{};
    std::optional<base::TimePoint> finished;
    bool withdrawn = false;
    base::TimePoint withdrawn_at{};
  };

  bool process(const api::ObjectKey& key, base::TimePoint now) override {
    const Object pod = store_.get(kube::kPods, key);
    agenda_.drop(key);
    if (!pod || is_terminating(*pod)) return false;
    if (!behaviour::is_set(*pod, kVitessStarted)) return drains_.erase(key) > 0 && clear(key);
    auto [known, fresh] = drains_.try_emplace(key);
    if (fresh || known->second.uid != uid_of(*pod)) known->second = Drain{uid_of(*pod), now, {}, false, {}};
    return advance(key, *pod, known->second, now);
  }

  /// Implements Vitess' state AbortingDrain.
  bool clear(const api::ObjectKey& key) {
    const bool a = annotate(key, kVitessAcknowledged, false, {});
    const bool b = annotate(key, kVitessFinished, false, {});
    return a || b;
  }

  bool advance(const api::ObjectKey& key, const Json& pod, Drain& drain, base::TimePoint now) {
    const VitessScript script = vitess_script(pod);
    const auto due = [&](base::TimePoint when) {
      if (when > now) agenda_.set(key, when);
      return when <= now;
    };
    if (!behaviour::is_set(pod, kVitessAcknowledged)) {
      return due(drain.started + script.ack) && annotate(key, kVitessAcknowledged, true, now);
    }
    if (!drain.finished) {
      const base::TimePoint from = drain.withdrawn ? drain.withdrawn_at : drain.started;
      if (!due(from + script.finish)) return false;
      drain.finished = now;
      return annotate(key, kVitessFinished, true, now);
    }
    if (!script.withdraw || drain.withdrawn || !due(*drain.finished + *script.withdraw)) return false;
    drain.withdrawn = true;
    drain.withdrawn_at = now;
    drain.finished.reset();
    return annotate(key, kVitessFinished, false, now);
  }

  bool annotate(const api::ObjectKey& key, std::string_view annotation, bool present, base::TimePoint now) {
    return store_.edit(kube::kPods, key, Part::kMain, "", [&](Json& edited) {
      Json& annotations = object_in(object_in(edited, "metadata"), "annotations");
      if (present) {
        annotations[std::string(annotation)] = base::format_time(now);
      } else {
        annotations.erase(std::string(annotation));
      }
    }) != nullptr;
  }

  std::map<api::ObjectKey, Drain> drains_;
};

/// Strimzi's drain cleaner. Annotates pods with strimzi.io/kind=Kafka and a name ending in -kafka or -zookeeper, and
/// denies their eviction.
Webhook strimzi_webhook(Store& store) {
  return {"strimzi-drain-cleaner.strimzi.io",
          [&store](const AdmissionRequest& request) { return review_kafka(store, request); }};
}

/// Couchbase's reschedule hook for label app=couchbase: 429 until the name belongs to another pod, then 404. With the
/// pod's annotation behaviour::kSaysGone = n, it returns 404 for the living pod n times.
Webhook couchbase_webhook(Store& store) {
  return {"reschedule-hook.couchbase.com",
          [&store, memory = std::make_shared<CouchbaseMemory>()](const AdmissionRequest& request) {
            return review_couchbase(store, *memory, request);
          }};
}

}  // namespace

void add_stateful_owners(Cluster& cluster, ApiServer& server) {
  for (const RollMark& mark : {kStrimziMark, kCouchbaseMark, kTikvMark}) {
    cluster.add_actor(make_pod_restarter(cluster.store(), mark));
  }
  cluster.add_actor(std::make_unique<VitessOperator>(cluster.store()));
  server.add_webhook(strimzi_webhook(cluster.store()));
  server.add_webhook(couchbase_webhook(cluster.store()));
}

}  // namespace simulator
