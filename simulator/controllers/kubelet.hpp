#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "simulator/actor.hpp"
#include "simulator/event_recorder.hpp"
#include "simulator/journal.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Default durations for pods without annotations (simulator/behaviour.hpp).
struct KubeletOptions {
  base::Duration start = base::seconds(1);  ///< from bound to Running
  base::Duration ready = base::seconds(1);  ///< from Running to Ready
  base::Duration stop = base::seconds(1);   ///< from deletion to removal, at most the grace period
};

/// The kubelets of all nodes: start bound pods, make them ready, end those that run to completion, stop terminating
/// ones. Ignores pods on a node that is dead (behaviour::kDead) or does not exist. There is no container runtime.
class Kubelet final : public Actor {
 public:
  Kubelet(Store& store, EventRecorder& events, KubeletOptions options);

  std::string_view name() const override { return "kubelet"; }
  bool tick(base::TimePoint now) override;
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

  void on_pod(const Change& change);
  void on_node(const Change& change);
  void add_pod(const Change& change, PodFacts facts);
  void release(const api::ObjectKey& key);
  void reschedule(const api::ObjectKey& key);
  bool responds(const ManagedPod& charge) const;
  std::optional<NextStep> next_step(const ManagedPod& charge) const;
  std::optional<NextStep> next_step_running(const ManagedPod& charge) const;
  base::Duration annotation(const ManagedPod& charge, std::string_view annotation, base::Duration otherwise) const;

  bool carry_out(const api::ObjectKey& key, Step step, base::TimePoint now);
  bool start(ManagedPod& charge, base::TimePoint now);
  bool wait(ManagedPod& charge, base::TimePoint now);
  bool set_ready(ManagedPod& charge, bool ready, base::TimePoint now);
  bool exit(ManagedPod& charge, base::TimePoint now);
  bool stop(ManagedPod& charge, base::TimePoint now);
  bool write_status(const ManagedPod& charge, const std::function<void(api::Json& pod, api::Json& status)>& edit);
  std::string next_address();

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

}  // namespace simulator
