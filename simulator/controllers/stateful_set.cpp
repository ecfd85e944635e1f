#include "simulator/controllers/workloads.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "base/text.hpp"
#include "simulator/objects.hpp"
#include "simulator/text.hpp"

namespace simulator {
namespace {

using api::Json;

struct Sequence {
  std::string name;
  std::string ns;
  std::int64_t first = 0;
  std::int64_t replicas = 1;
  bool ordered = true;
  base::seconds min_ready{0};

  std::int64_t end() const { return first + replicas; }
  api::ObjectKey key(std::int64_t ordinal) const { return {ns, fmt::format("{}-{}", name, ordinal)}; }
};

Sequence sequence_of(const Json& owner) {
  Sequence sequence;
  sequence.name = api::text_at(owner, {"metadata", "name"});
  sequence.ns = api::text_at(owner, {"metadata", "namespace"});
  sequence.first = count_at(owner, {"spec", "ordinals", "start"}, 0);
  sequence.replicas = count_at(owner, {"spec", "replicas"}, 1);
  sequence.ordered = api::text_at(owner, {"spec", "podManagementPolicy"}) != "Parallel";
  sequence.min_ready = seconds_at(owner, {"spec", "minReadySeconds"}).value_or(base::seconds(0));
  return sequence;
}

/// Returns the ordinal in a pod name "<name>-<ordinal>", or -1.
std::int64_t ordinal_of(const std::string& pod, const std::string& name) {
  if (!pod.starts_with(name + "-")) return -1;
  return base::parse_number<std::int64_t>(std::string_view(pod).substr(name.size() + 1)).value_or(-1);
}

std::vector<std::pair<std::int64_t, const PodFacts*>> from_the_top(const std::map<api::ObjectKey, PodFacts>& pods,
                                                                   const Sequence& sequence) {
  std::vector<std::pair<std::int64_t, const PodFacts*>> sorted;
  for (const auto& [key, pod] : pods) {
    if (const std::int64_t ordinal = ordinal_of(key.name, sequence.name); ordinal >= 0)
      sorted.emplace_back(ordinal, &pod);
  }
  std::ranges::sort(sorted, std::greater<>{}, [](const auto& entry) { return entry.first; });
  return sorted;
}

/// Creates pods <name>-0, <name>-1 … one by one (OrderedReady) or together (Parallel) with their
/// PersistentVolumeClaims. Rolling updates start at the highest ordinal.
class StatefulSetController final : public WorkloadController {
 public:
  StatefulSetController(Store& store, EventRecorder& events) : WorkloadController(store, events, kube::kStatefulSets) {}
  std::string_view name() const override { return "statefulset-controller"; }

 private:
  bool reconcile(const Json& owner, const Pods& pods, base::TimePoint now) override {
    const Sequence sequence = sequence_of(owner);
    const Json* pod_template = api::find_at(owner, {"spec", "template"});
    const std::string revision = sequence.name + "-" + template_hash(pod_template ? *pod_template : Json::object());
    std::int64_t ready = 0;
    std::int64_t available = 0;
    std::int64_t updated = 0;
    for (const auto& [key, pod] : pods) {
      if (!pod.is_active()) continue;
      ready += pod.ready;
      available += pod.is_available(sequence.min_ready, now);
      updated += pod.revision == revision;
      if (pod.ready_since && !pod.is_available(sequence.min_ready, now))
        reconcile_at(owner, *pod.ready_since + sequence.min_ready);
    }
    const bool changed = write_status(owner, [&](Json& status) {
      status["replicas"] = pods.size();
      status["readyReplicas"] = ready;
      status["availableReplicas"] = available;
      status["updatedReplicas"] = updated;
      if (updated == std::ssize(pods) || !status.contains("currentRevision")) status["currentRevision"] = revision;
      status["currentReplicas"] =
          api::text_at(status, {"currentRevision"}) == revision ? updated : std::ssize(pods) - updated;
      status["updateRevision"] = revision;
      status["collisionCount"] = 0;
    });
    return scale(owner, pods, revision, now) || changed;
  }

  /// Creates pods in ordinal order. An ordered set waits at the first pod that is missing, not ready or terminating.
  bool scale(const Json& owner, const Pods& pods, const std::string& revision, base::TimePoint now) {
    const Sequence sequence = sequence_of(owner);
    bool changed = false;
    for (std::int64_t ordinal = sequence.first; ordinal < sequence.end(); ++ordinal) {
      const auto found = pods.find(sequence.key(ordinal));
      const bool missing = found == pods.end();
      if (missing) changed = make_pod(owner, ordinal, revision) || changed;
      if (!missing && found->second.is_terminal() && !found->second.terminating)
        changed = delete_pod(found->second) || changed;
      const bool fine = !missing && found->second.is_active() && found->second.is_available(sequence.min_ready, now);
      if (!fine && sequence.ordered) return changed;
    }
    if (changed) return true;
    const auto top = from_the_top(pods, sequence);
    const bool too_many = std::ranges::any_of(
        top, [&](const auto& entry) { return entry.first >= sequence.end() || entry.first < sequence.first; });
    return too_many ? shrink(owner, pods) : update(owner, pods, revision);
  }

  bool shrink(const Json& owner, const Pods& pods) {
    const Sequence sequence = sequence_of(owner);
    bool changed = false;
    for (const auto& [ordinal, pod] : from_the_top(pods, sequence)) {
      if (ordinal < sequence.end() && ordinal >= sequence.first) continue;
      if (!pod->terminating) changed = delete_pod(*pod) || changed;
      if (sequence.ordered) return changed;
    }
    return changed;
  }

  /// Replaces pods of an old template one at a time, highest ordinal first, and only while the pods above are ready.
  bool update(const Json& owner, const Pods& pods, const std::string& revision) {
    if (api::text_at(owner, {"spec", "updateStrategy", "type"}) == "OnDelete") return false;
    const Sequence sequence = sequence_of(owner);
    const std::int64_t partition =
        api::number_at(owner, {"spec", "updateStrategy", "rollingUpdate", "partition"}).value_or(0);
    for (const auto& [ordinal, pod] : from_the_top(pods, sequence)) {
      if (ordinal < partition) return false;
      if (pod->revision != revision && !pod->terminating) return delete_pod(*pod);
      if (pod->terminating || !pod->ready) return false;
    }
    return false;
  }

  bool make_pod(const Json& owner, std::int64_t ordinal, const std::string& revision) {
    const std::string pod_name = fmt::format("{}-{}", api::text_at(owner, {"metadata", "name"}), ordinal);
    Json pod = pod_from_template(owner, api::find_at(owner, {"spec", "template"}));
    pod["metadata"].erase("generateName");
    pod["metadata"]["name"] = pod_name;
    Json& labels = object_in(pod["metadata"], "labels");
    labels["statefulset.kubernetes.io/pod-name"] = pod_name;
    labels["apps.kubernetes.io/pod-index"] = std::to_string(ordinal);
    labels["controller-revision-hash"] = revision;
    pod["spec"]["hostname"] = pod_name;
    if (const std::string service = api::text_at(owner, {"spec", "serviceName"}); !service.empty())
      pod["spec"]["subdomain"] = service;
    const bool claimed = make_claims(owner, pod_name, pod);
    return create_pod(owner, std::move(pod)) || claimed;
  }

  /// Creates the PersistentVolumeClaims. They outlive the pod, so that a successor with the same name gets the same
  /// volumes.
  bool make_claims(const Json& owner, const std::string& pod_name, Json& pod) {
    const Json* templates = api::find_at(owner, {"spec", "volumeClaimTemplates"});
    if (!templates || !templates->is_array()) return false;
    bool changed = false;
    for (const Json& entry : *templates) {
      const std::string claim_name = api::text_at(entry, {"metadata", "name"});
      const api::ObjectKey key{api::text_at(owner, {"metadata", "namespace"}),
                               fmt::format("{}-{}", claim_name, pod_name)};
      array_in(pod["spec"], "volumes")
          .push_back({{"name", claim_name}, {"persistentVolumeClaim", {{"claimName", key.name}}}});
      if (store_.get(kube::kPersistentVolumeClaims, key)) continue;
      Json claim = entry;
      object_in(claim, "metadata")["name"] = key.name;
      claim["metadata"]["namespace"] = key.ns;
      claim["status"] = {{"phase", "Pending"}};
      changed = store_.create(kube::kPersistentVolumeClaims, std::move(claim)).ok() || changed;
    }
    return changed;
  }
};

}  // namespace

std::unique_ptr<Actor> make_stateful_set_controller(Store& store, EventRecorder& events) {
  return std::make_unique<StatefulSetController>(store, events);
}

}  // namespace simulator
