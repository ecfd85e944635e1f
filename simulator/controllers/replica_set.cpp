#include "simulator/controllers/workloads.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"

namespace simulator {
namespace {

using api::Json;

int phase_rank(const PodFacts& pod) { return pod.phase == "Running" ? 2 : pod.phase == "Pending" ? 0 : 1; }

/// Sorts pods for scale-down, first victim first: not scheduled, not running, not ready, lower deletion cost, node with
/// more pods of the set, ready for a shorter time, younger; ties by name.
void sort_victims(std::vector<const PodFacts*>& pods) {
  std::map<std::string, int> on_node;
  for (const PodFacts* pod : pods) ++on_node[pod->node];
  std::ranges::sort(pods, [&](const PodFacts* a, const PodFacts* b) {
    const auto rank = [&](const PodFacts& pod) {
      const auto ready_age = pod.ready_since.value_or(base::TimePoint{}).time_since_epoch().count();
      return std::make_tuple(!pod.node.empty(), phase_rank(pod), pod.ready, pod.deletion_cost, -on_node[pod.node],
                             -ready_age, -pod.created.time_since_epoch().count(), std::string_view(pod.key.name));
    };
    return rank(*a) < rank(*b);
  });
}

void count_replicas(Json& status, const std::vector<const PodFacts*>& active, std::int64_t available) {
  status["replicas"] = active.size();
  status["fullyLabeledReplicas"] = active.size();
  status["readyReplicas"] = std::ranges::count_if(active, &PodFacts::ready);
  status["availableReplicas"] = available;
}

/// Maintains spec.replicas pods. Deletes unscheduled, then unready, then young pods first, like Kubernetes.
class ReplicaSetController final : public WorkloadController {
 public:
  ReplicaSetController(Store& store, EventRecorder& events) : WorkloadController(store, events, kube::kReplicaSets) {}
  std::string_view name() const override { return "replicaset-controller"; }

 private:
  bool reconcile(const Json& owner, const Pods& pods, base::TimePoint now) override {
    const std::int64_t wanted = count_at(owner, {"spec", "replicas"}, 1);
    const base::seconds min_ready = seconds_at(owner, {"spec", "minReadySeconds"}).value_or(base::seconds(0));
    std::vector<const PodFacts*> active;
    std::int64_t available = 0;
    for (const auto& [key, pod] : pods) {
      if (!pod.is_active()) continue;
      active.push_back(&pod);
      if (pod.is_available(min_ready, now)) {
        ++available;
      } else if (pod.ready_since) {
        reconcile_at(owner, *pod.ready_since + min_ready);
      }
    }

    bool changed = write_status(owner, [&](Json& status) { count_replicas(status, active, available); });
    for (auto missing = wanted - std::ssize(active); missing > 0; --missing) {
      if (!create_pod(owner, pod_from_template(owner, api::find_at(owner, {"spec", "template"})))) break;
      changed = true;
    }
    const auto surplus = std::ssize(active) - wanted;
    if (surplus > 0) {
      sort_victims(active);
      for (std::ptrdiff_t i = 0; i < surplus; ++i)
        changed = delete_pod(*active[static_cast<std::size_t>(i)]) || changed;
    }
    return changed;
  }
};

}  // namespace

std::unique_ptr<Actor> make_replica_set_controller(Store& store, EventRecorder& events) {
  return std::make_unique<ReplicaSetController>(store, events);
}

}  // namespace simulator
