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

/// Maintains the status of PodDisruptionBudgets like Kubernetes' disruption controller: expectedPods, currentHealthy,
/// desiredHealthy, disruptionsAllowed, disruptedPods (dropped once the pod terminates, or after 2 minutes), condition
/// DisruptionAllowed. Resets the condition DisruptionTarget of a pod whose eviction did not happen.
class DisruptionController final : public Actor {
 public:
  DisruptionController(Store& store, EventRecorder& events);

  std::string_view name() const override { return "disruption-controller"; }
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override { return earliest(recheck_.next(), stale_targets_.next()); }

 private:
  struct Member {
    PodFacts facts;
    api::StringMap labels;
  };
  struct Budget {
    Object pdb;
    std::optional<api::LabelSelector> selector;  ///< nullopt matches no pod
    std::map<api::ObjectKey, PodFacts> pods;
    std::set<std::string> departed;  ///< names of pods that left or began to leave since the last status
  };
  struct Scale {
    std::int64_t replicas = 0;
    std::string owner_uid;  ///< for a ReplicaSet: UID of its Deployment
  };
  struct Expectation;

  void on_pdb(const Change& change);
  void on_pod(const Change& change);
  void on_scale(const Change& change);
  void place(const api::ObjectKey& key, const Member* member);
  bool sync(const api::ObjectKey& key, base::TimePoint now);
  Expectation expectation(const Budget& budget) const;
  std::optional<std::int64_t> scale_of_owners(const Budget& budget, std::string& orphan) const;
  bool withdraw_target(const api::ObjectKey& pod, base::TimePoint now);

  Store& store_;
  EventRecorder& events_;
  Journal journal_;
  std::map<api::ObjectKey, Budget> budgets_;
  std::map<api::ObjectKey, Member> pods_;
  std::map<std::string, Scale> scales_;  // by UID
  std::set<api::ObjectKey> dirty_;
  Agenda<api::ObjectKey> recheck_;
  Agenda<api::ObjectKey> stale_targets_;
};

}  // namespace simulator
