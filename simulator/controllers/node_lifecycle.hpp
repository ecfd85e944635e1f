#pragma once

#include <map>
#include <set>
#include <string>

#include "simulator/actor.hpp"
#include "simulator/event_recorder.hpp"
#include "simulator/journal.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/store.hpp"

namespace simulator {

struct NodeLifecycleOptions {
  base::Duration monitor_grace =
      base::seconds(40);  ///< time without heartbeat until Ready becomes Unknown, like node-monitor-grace-period
};

/// The node controller: registers nodes created without a status, marks dead nodes (behaviour::kDead) and their pods
/// NotReady, maintains the taints that mirror conditions and cordon, and evicts pods by NoExecute taints according to
/// their tolerations.
class NodeLifecycle final : public Actor {
 public:
  NodeLifecycle(Store& store, EventRecorder& events, NodeLifecycleOptions options);

  std::string_view name() const override { return "node-controller"; }
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override { return earliest(silent_.next(), evictions_.next()); }

 private:
  struct NodeState {
    Object node;
    std::vector<api::Taint> no_execute;
    std::map<api::ObjectKey, base::TimePoint> tainted_since;  // by pod that must leave
  };

  void on_node(const Change& change);
  void on_pod(const Change& change);
  bool look_at_node(const std::string& name, base::TimePoint now);
  bool mark_unreachable(const std::string& name, base::TimePoint now);
  bool write_node(const std::string& name, base::TimePoint now, bool silent);
  bool mark_pods_not_ready(const std::string& name, base::TimePoint now);
  void plan_eviction(const api::ObjectKey& pod, base::TimePoint now);
  bool evict(const api::ObjectKey& pod, base::TimePoint now);

  Store& store_;
  EventRecorder& events_;
  NodeLifecycleOptions options_;
  Journal journal_;
  base::TimePoint now_{};
  std::map<std::string, NodeState> nodes_;
  std::map<std::string, std::set<api::ObjectKey>> pods_on_;
  std::map<api::ObjectKey, PodFacts> pods_;
  std::set<std::string> to_look_at_;
  std::set<std::string> pending_;   // dead nodes within the grace period
  std::set<std::string> declared_;  // dead nodes after the grace period
  Agenda<std::string> silent_;      // when to declare a node silent
  Agenda<api::ObjectKey> evictions_;
};

}  // namespace simulator
