#include "simulator/controllers/controllers.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/journal.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {
namespace {

using api::Json;

/// Returns the start time of the first running container, from the pod's status.
std::optional<base::TimePoint> running_since_of(const Json& pod) {
  const Json* statuses = api::find_at(pod, {"status", "containerStatuses"});
  if (statuses && statuses->is_array()) {
    for (const Json& status : *statuses) {
      if (const auto started = time_at(status, {"state", "running", "startedAt"})) return started;
    }
  }
  return time_at(pod, {"status", "startTime"});
}

int initial_restarts(const Json& pod) { return std::max(0, behaviour::integer_of(pod, behaviour::kRestarts, 0)); }

Json status_of_container(const Json& pod, const Json& container, std::string_view suffix) {
  const std::string name = api::text_at(container, {"name"});
  const std::string image = api::text_at(container, {"image"});
  return {{"name", name},
          {"image", image},
          {"imageID", "simulated://" + image},
          {"containerID", fmt::format("simulated://{}-{}{}", uid_of(pod).substr(0, 8), name, suffix)},
          {"restartCount", initial_restarts(pod)},
          {"ready", false},
          {"started", true},
          {"lastState", Json::object()}};
}

/// Returns a status with `state` for each container of spec[list].
Json container_statuses(const Json& pod, const char* list, const Json& state) {
  Json statuses = Json::array();
  const Json* containers = api::find_at(pod, {"spec", list});
  if (!containers || !containers->is_array()) return statuses;
  for (const Json& container : *containers) {
    Json status = status_of_container(pod, container, "");
    status["state"] = state;
    statuses.push_back(std::move(status));
  }
  return statuses;
}

Json terminated_state(int exit_code, base::TimePoint started, base::TimePoint now) {
  return {{"terminated",
           {{"exitCode", exit_code},
            {"reason", exit_code == 0 ? "Completed" : "Error"},
            {"startedAt", base::format_time(started)},
            {"finishedAt", base::format_time(now)}}}};
}

void put_readiness(Json& status, bool ready, std::string_view reason, base::TimePoint now) {
  const std::string_view value = ready ? "True" : "False";
  const std::string_view why = ready ? "" : reason;
  const std::string_view text = ready ? "" : "containers with unready status";
  put_condition(status, "Ready", value, why, reason == "PodCompleted" ? "" : text, now);
  put_condition(status, "ContainersReady", value, why, reason == "PodCompleted" ? "" : text, now);
  for (Json& container : array_in(status, "containerStatuses")) {
    if (container.is_object()) container["ready"] = ready;
  }
}

/// Terminates every container with `exit_code`.
void terminate_containers(Json& status, int exit_code, base::TimePoint started, base::TimePoint now) {
  for (Json& container : array_in(status, "containerStatuses")) {
    if (!container.is_object()) continue;
    container["ready"] = false;
    container["started"] = false;
    container["state"] = terminated_state(exit_code, started, now);
  }
}

void restart_containers(Json& status, int exit_code, base::TimePoint started, base::TimePoint now) {
  for (Json& container : array_in(status, "containerStatuses")) {
    if (!container.is_object()) continue;
    container["restartCount"] = api::number_at(container, {"restartCount"}).value_or(0) + 1;
    container["lastState"] = terminated_state(exit_code, started, now);
    container["state"] = {{"running", {{"startedAt", base::format_time(now)}}}};
  }
}

bool may_restart(const Json& pod, int exit_code) {
  const std::string policy = api::text_at(pod, {"spec", "restartPolicy"});
  return policy == "OnFailure" ? exit_code != 0 : policy != "Never";
}

/// The kubelets of all nodes: start bound pods, make them ready, end those that run to completion, stop terminating
/// ones. Ignores pods on a node that is dead (behaviour::kDead) or does not exist. There is no container runtime.
class Kubelet final : public Actor {
 public:
  Kubelet(Store& store, EventRecorder& events, KubeletOptions options)
      : store_(store), events_(events), options_(options), journal_(store) {
    journal_.on_reset([this] {
      nodes_.clear();
      agenda_.clear();
      std::erase_if(charges_, [this](const auto& entry) { return !store_.get(kube::kPods, entry.first); });
    });
    journal_.follow(kube::kNodes, [this](const Change& change) { on_node(change); });
    journal_.follow(kube::kPods, [this](const Change& change) { on_pod(change); });
  }

  std::string_view name() const override { return "kubelet"; }

  bool tick(base::TimePoint now) override {
    now_ = now;
    journal_.poll();
    bool changed = false;
    for (const api::ObjectKey& key : agenda_.take_due(now)) {
      const auto found = charges_.find(key);
      if (found == charges_.end()) continue;
      if (const auto next = next_step(found->second); next && next->when <= now)
        changed = carry_out(key, next->step, now) || changed;
    }
    return changed;
  }

  std::optional<base::TimePoint> next_due() const override { return agenda_.next(); }

 private:
  enum class Step { kStart, kWait, kReady, kUnready, kExit, kStop };
  struct ManagedPod {
    PodFacts facts;
    Object pod;
    base::TimePoint bound_at{};
    std::optional<base::TimePoint> running_since;
    std::optional<base::TimePoint> stopping_since;
    std::optional<base::TimePoint> grace_end;
    bool waits_indefinitely = false;  ///< the waiting reason has been written
    bool stopped = false;             ///< containers have stopped; finalizers keep the object
  };
  struct NextStep {
    Step step;
    base::TimePoint when;
  };
  struct NodeState {
    bool registered = false;
    bool dead = false;
    std::set<api::ObjectKey> pods;
  };

  void on_pod(const Change& change) {
    if (change.kind == ChangeKind::kDeleted) return release(change.key);
    PodFacts facts = facts_of(*change.object);
    if (facts.node.empty()) return release(change.key);
    add_pod(change, std::move(facts));
    reschedule(change.key);
  }

  void on_node(const Change& change) {
    NodeState& node = nodes_[change.key.name];
    if (change.kind == ChangeKind::kDeleted) {
      node.registered = false;  // its pods are handled by the pod garbage collector
      for (const auto& key : node.pods) agenda_.drop(key);
      if (node.pods.empty()) nodes_.erase(change.key.name);
      return;
    }
    const bool dead = behaviour::is_set(*change.object, behaviour::kDead);
    const bool back = !dead && (node.dead || !node.registered);
    node.dead = dead;
    node.registered = true;
    for (const auto& key : node.pods) {
      if (dead) agenda_.drop(key);
      if (back) reschedule(key);
    }
  }

  void add_pod(const Change& change, PodFacts facts) {
    const auto known = charges_.find(change.key);
    if (known != charges_.end() && known->second.facts.uid != facts.uid) release(change.key);
    ManagedPod& charge = charges_[change.key];
    if (charge.facts.uid.empty()) {
      charge.bound_at = now_;
      charge.running_since = facts.phase == "Running" ? running_since_of(*change.object) : std::nullopt;
    }
    if (facts.terminating && !charge.stopping_since) charge.stopping_since = now_;
    if (facts.terminating) charge.grace_end = time_at(*change.object, {"metadata", "deletionTimestamp"});
    charge.facts = std::move(facts);
    charge.pod = change.object;
    nodes_[charge.facts.node].pods.insert(change.key);
  }

  void release(const api::ObjectKey& key) {
    const auto found = charges_.find(key);
    if (found == charges_.end()) return;
    const auto node = nodes_.find(found->second.facts.node);
    if (node != nodes_.end()) node->second.pods.erase(key);
    charges_.erase(found);
    agenda_.drop(key);
  }

  void reschedule(const api::ObjectKey& key) {
    agenda_.drop(key);
    const ManagedPod& charge = charges_.at(key);
    if (!responds(charge)) return;
    if (const auto next = next_step(charge)) agenda_.set(key, next->when);
  }

  /// Returns false for a node that is dead or not registered. Pods on such a node wait, as in Kubernetes.
  bool responds(const ManagedPod& charge) const {
    const auto node = nodes_.find(charge.facts.node);
    return node != nodes_.end() && node->second.registered && !node->second.dead;
  }

  /// Returns the next step for this pod and its time. Level-based: computed from the current state.
  std::optional<NextStep> next_step(const ManagedPod& charge) const {
    if (charge.stopped) return std::nullopt;
    if (charge.stopping_since) {
      const base::TimePoint wanted =
          *charge.stopping_since + annotation(charge, behaviour::kStopSeconds, options_.stop);
      return NextStep{Step::kStop,
                      std::min(wanted, std::max(charge.grace_end.value_or(wanted), *charge.stopping_since))};
    }
    if (charge.facts.is_terminal()) return std::nullopt;
    if (charge.running_since) return next_step_running(charge);
    const base::TimePoint start = charge.bound_at + annotation(charge, behaviour::kStartSeconds, options_.start);
    if (!behaviour::is_set(*charge.pod, behaviour::kWaitingReason)) return NextStep{Step::kStart, start};
    return charge.waits_indefinitely ? std::nullopt : std::optional(NextStep{Step::kWait, start});
  }

  std::optional<NextStep> next_step_running(const ManagedPod& charge) const {
    const bool never_ready = behaviour::is_set(*charge.pod, behaviour::kNeverReady);
    if (charge.facts.ready && never_ready) return NextStep{Step::kUnready, now_};
    std::optional<NextStep> next;
    if (!charge.facts.ready && !never_ready)
      next =
          NextStep{Step::kReady, *charge.running_since + annotation(charge, behaviour::kReadySeconds, options_.ready)};
    if (const auto run = behaviour::duration_of(*charge.pod, behaviour::kRunSeconds)) {
      // without a pause, a restart loop would never become quiet
      const base::TimePoint end = *charge.running_since + std::max<base::Duration>(*run, base::milliseconds(100));
      if (!next || end < next->when) next = NextStep{Step::kExit, end};
    }
    return next;
  }

  base::Duration annotation(const ManagedPod& charge, std::string_view annotation, base::Duration otherwise) const {
    return behaviour::duration_of(*charge.pod, annotation).value_or(otherwise);
  }

  bool carry_out(const api::ObjectKey& key, Step step, base::TimePoint now) {
    ManagedPod& charge = charges_.at(key);
    bool done = false;
    switch (step) {
      case Step::kStart: done = start(charge, now); break;
      case Step::kWait: done = wait(charge, now); break;
      case Step::kReady: done = set_ready(charge, true, now); break;
      case Step::kUnready: done = set_ready(charge, false, now); break;
      case Step::kExit: done = exit(charge, now); break;
      case Step::kStop: done = stop(charge, now); break;
    }
    return done;
  }

  bool start(ManagedPod& charge, base::TimePoint now) {
    charge.running_since = now;
    const bool ready_at_once = annotation(charge, behaviour::kReadySeconds, options_.ready) == base::Duration::zero() &&
                               !behaviour::is_set(*charge.pod, behaviour::kNeverReady);
    const std::string address = next_address();
    return write_status(charge, [&](Json& pod, Json& status) {
      status["phase"] = "Running";
      status["startTime"] = base::format_time(charge.bound_at);
      status["hostIP"] = "10.0.0.1";
      status["podIP"] = address;
      status["podIPs"] = Json::array({Json{{"ip", address}}});
      if (api::find_at(pod, {"spec", "initContainers"})) {
        status["initContainerStatuses"] =
            container_statuses(pod, "initContainers", terminated_state(0, charge.bound_at, now));
      }
      status["containerStatuses"] =
          container_statuses(pod, "containers", {{"running", {{"startedAt", base::format_time(now)}}}});
      put_condition(status, "PodScheduled", "True", "", "", charge.bound_at);
      put_condition(status, "Initialized", "True", "", "", now);
      put_readiness(status, ready_at_once, "ContainersNotReady", now);
    });
  }

  bool wait(ManagedPod& charge, base::TimePoint now) {
    charge.waits_indefinitely = true;
    const std::string reason = api::text_at(*charge.pod, {"metadata", "annotations", behaviour::kWaitingReason});
    return write_status(charge, [&](Json& pod, Json& status) {
      status["startTime"] = base::format_time(charge.bound_at);
      status["containerStatuses"] = container_statuses(pod, "containers", {{"waiting", {{"reason", reason}}}});
      put_readiness(status, false, "ContainersNotReady", now);
    });
  }

  bool set_ready(ManagedPod& charge, bool ready, base::TimePoint now) {
    return write_status(charge, [&](Json&, Json& status) { put_readiness(status, ready, "ContainersNotReady", now); });
  }

  bool exit(ManagedPod& charge, base::TimePoint now) {
    const int exit_code = behaviour::integer_of(*charge.pod, behaviour::kExitCode, 0);
    const base::TimePoint started = *charge.running_since;
    if (may_restart(*charge.pod, exit_code)) {
      charge.running_since = now;
      return write_status(charge, [&](Json&, Json& status) {
        restart_containers(status, exit_code, started, now);
        put_readiness(status, false, "ContainersNotReady", now);
      });
    }
    return write_status(charge, [&](Json&, Json& status) {
      status["phase"] = exit_code == 0 ? "Succeeded" : "Failed";
      terminate_containers(status, exit_code, started, now);
      put_readiness(status, false, exit_code == 0 ? "PodCompleted" : "PodFailed", now);
    });
  }

  /// Stops the pod. The last step is a deletion with grace period 0. Finalizers can keep the object after its
  /// containers have stopped.
  bool stop(ManagedPod& charge, base::TimePoint now) {
    events_.normal(name(), *charge.pod, "Killing", "Stopping containers");
    const Json* finalizers = api::find_at(*charge.pod, {"metadata", "finalizers"});
    if (finalizers && !finalizers->empty()) {
      charge.stopped = true;
      (void)write_status(charge, [&](Json&, Json& status) {
        if (!charge.facts.is_terminal()) status["phase"] = "Succeeded";
        terminate_containers(status, 0, charge.running_since.value_or(now), now);
        put_readiness(status, false, "PodCompleted", now);
      });
    }
    return store_.remove(kube::kPods, charge.facts.key, {charge.facts.uid, ""}, 0).ok();
  }

  /// Writes the status of the same pod (by UID). Returns false if it is gone, was replaced, or nothing changed.
  bool write_status(const ManagedPod& charge, const std::function<void(Json& pod, Json& status)>& edit) {
    const auto written = store_.edit(kube::kPods, charge.facts.key, Part::kStatus, charge.facts.uid,
                                     [&](Json& pod) { edit(pod, object_in(pod, "status")); });
    return written && written != charge.pod;
  }

  std::string next_address() {
    const std::uint32_t n = ++addresses_;
    return fmt::format("10.{}.{}.{}", 64 + (n / 64'516) % 190, (n / 254) % 254, 1 + n % 254);
  }

  Store& store_;
  EventRecorder& events_;
  KubeletOptions options_;
  Journal journal_;
  base::TimePoint now_{};
  std::map<api::ObjectKey, ManagedPod> charges_;
  std::map<std::string, NodeState> nodes_;
  Agenda<api::ObjectKey> agenda_;
  std::uint32_t addresses_ = 0;
};

}  // namespace

std::unique_ptr<Actor> make_kubelet(Store& store, EventRecorder& events, KubeletOptions options) {
  return std::make_unique<Kubelet>(store, events, options);
}

}  // namespace simulator
