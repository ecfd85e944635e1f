#include "simulator/controllers/workloads.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"

namespace simulator {
namespace {

using api::Json;

struct AutomaticToleration {
  const char* key;
  const char* effect;
};
constexpr AutomaticToleration kDaemonTolerations[] = {
    {"node.kubernetes.io/not-ready", "NoExecute"},      {"node.kubernetes.io/unreachable", "NoExecute"},
    {"node.kubernetes.io/disk-pressure", "NoSchedule"}, {"node.kubernetes.io/memory-pressure", "NoSchedule"},
    {"node.kubernetes.io/pid-pressure", "NoSchedule"},  {"node.kubernetes.io/unschedulable", "NoSchedule"},
    {"node.kubernetes.io/unreachable", "NoSchedule"},   {"node.kubernetes.io/not-ready", "NoSchedule"},
};

void add_daemon_tolerations(Json& spec) {
  Json& tolerations = array_in(spec, "tolerations");
  for (const auto& [key, effect] : kDaemonTolerations) {
    tolerations.push_back({{"key", key}, {"operator", "Exists"}, {"effect", effect}});
  }
}

enum class Eligibility { kNone, kMayStay, kWanted };

Eligibility eligibility(const Json& pod_spec, const std::vector<api::Toleration>& tolerations, const Json& node) {
  if (!selects_node(pod_spec, node)) return Eligibility::kNone;
  Eligibility found = Eligibility::kWanted;
  for (const api::Taint& taint : taints_of(node)) {
    const bool tolerated =
        std::ranges::any_of(tolerations, [&](const api::Toleration& t) { return t.tolerates(taint); });
    if (tolerated || taint.effect == api::TaintEffect::kPreferNoSchedule) continue;
    if (taint.effect == api::TaintEffect::kNoExecute) return Eligibility::kNone;
    found = Eligibility::kMayStay;
  }
  return found;
}

/// Returns true if the change can affect which nodes are eligible.
bool matters(const Change& change) {
  if (!change.before || change.kind != ChangeKind::kModified) return true;
  return !same_at(*change.before, *change.object, {"metadata", "labels"}) ||
         !same_at(*change.before, *change.object, {"spec"});
}

/// Maintains one pod per node that the template's selector, affinity and tolerations admit. The scheduler binds the
/// pods.
class DaemonSetController final : public WorkloadController {
 public:
  DaemonSetController(Store& store, EventRecorder& events) : WorkloadController(store, events, kube::kDaemonSets) {
    journal_.follow(kube::kNodes, [this](const Change& change) {
      if (change.kind == ChangeKind::kDeleted) {
        nodes_.erase(change.key.name);
      } else {
        nodes_[change.key.name] = change.object;
      }
      if (matters(change)) reconcile_all();
    });
  }

  std::string_view name() const override { return "daemonset-controller"; }

 private:
  bool reconcile(const Json& owner, const Pods& pods, base::TimePoint now) override {
    const Json* pod_template = api::find_at(owner, {"spec", "template"});
    Json spec = Json::object();
    if (const Json* given = pod_template ? api::find_at(*pod_template, {"spec"}) : nullptr; given && given->is_object())
      spec = *given;
    add_daemon_tolerations(spec);
    const auto tolerations = tolerations_of(spec);
    const std::string revision = template_hash(pod_template ? *pod_template : Json::object());
    const base::seconds min_ready = seconds_at(owner, {"spec", "minReadySeconds"}).value_or(base::seconds(0));

    std::map<std::string, const PodFacts*> per_node;
    bool changed = false;
    std::int64_t misplaced = 0;
    for (const auto& [key, pod] : pods) {
      const auto node = nodes_.find(pod.target_node);
      const Eligibility stay =
          node == nodes_.end() ? Eligibility::kNone : eligibility(spec, tolerations, *node->second);
      misplaced += stay != Eligibility::kWanted && !pod.node.empty();
      const bool surplus = stay == Eligibility::kNone || pod.is_terminal() || per_node.contains(pod.target_node);
      if (pod.terminating) {
        if (!per_node.contains(pod.target_node)) per_node[pod.target_node] = &pod;
      } else if (surplus) {
        changed = delete_pod(pod) || changed;
      } else {
        per_node[pod.target_node] = &pod;
      }
    }

    std::int64_t wanted = 0;
    for (const auto& [node_name, node] : nodes_) {
      if (eligibility(spec, tolerations, *node) != Eligibility::kWanted) continue;
      ++wanted;
      if (!per_node.contains(node_name)) changed = make_pod(owner, node_name, revision) || changed;
    }
    std::int64_t ready = 0;
    std::int64_t available = 0;
    std::int64_t updated = 0;
    for (const auto& [node_name, pod] : per_node) {
      ready += pod->ready && !pod->terminating;
      available += pod->is_available(min_ready, now);
      updated += pod->revision == revision;
      if (pod->ready_since && *pod->ready_since + min_ready > now) reconcile_at(owner, *pod->ready_since + min_ready);
    }
    changed = write_status(owner,
                           [&](Json& status) {
                             status["desiredNumberScheduled"] = wanted;
                             status["currentNumberScheduled"] = per_node.size();
                             status["numberMisscheduled"] = misplaced;
                             status["numberReady"] = ready;
                             status["numberAvailable"] = available;
                             status["numberUnavailable"] = std::max<std::int64_t>(0, wanted - available);
                             status["updatedNumberScheduled"] = updated;
                           }) ||
              changed;
    return changed || update(owner, per_node, revision, wanted);
  }

  bool make_pod(const Json& owner, const std::string& node, const std::string& revision) {
    Json pod = pod_from_template(owner, api::find_at(owner, {"spec", "template"}));
    object_in(pod["metadata"], "labels")["controller-revision-hash"] = revision;
    Json& spec = pod["spec"];
    add_daemon_tolerations(spec);
    Json by_name = {{"key", "metadata.name"}, {"operator", "In"}};
    by_name["values"] = Json::array({node});
    Json term = Json::object();
    term["matchFields"] = Json::array({std::move(by_name)});
    Json& required = object_in(object_in(object_in(spec, "affinity"), "nodeAffinity"),
                               "requiredDuringSchedulingIgnoredDuringExecution");
    required["nodeSelectorTerms"] = Json::array({std::move(term)});
    return create_pod(owner, std::move(pod));
  }

  /// Replaces pods of an old template, at most maxUnavailable (default 1) at a time.
  bool update(const Json& owner, const std::map<std::string, const PodFacts*>& per_node, const std::string& revision,
              std::int64_t wanted) {
    if (api::text_at(owner, {"spec", "updateStrategy", "type"}) == "OnDelete") return false;
    std::int64_t capacity =
        scaled_value(api::find_at(owner, {"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"}), wanted, true)
            .value_or(1);
    for (const auto& [node, pod] : per_node) capacity -= !pod->ready || pod->terminating;
    bool changed = false;
    for (const auto& [node, pod] : per_node) {
      if (capacity <= 0) break;
      if (pod->revision == revision || pod->terminating) continue;
      changed = delete_pod(*pod) || changed;
      --capacity;
    }
    return changed;
  }

  std::map<std::string, Object> nodes_;
};

}  // namespace

std::unique_ptr<Actor> make_daemon_set_controller(Store& store, EventRecorder& events) {
  return std::make_unique<DaemonSetController>(store, events);
}

}  // namespace simulator
