#pragma once

/// Controllers of Kubernetes' built-in workloads. Each class has the same structure: a journal, the owners by key, the
/// children of each owner, and the set of owners to reconcile.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "simulator/actor.hpp"
#include "simulator/event_recorder.hpp"
#include "simulator/journal.hpp"
#include "simulator/pod_facts.hpp"
#include "simulator/store.hpp"

namespace simulator {

/// Base class: owners of one kind with the pods that they control.
class WorkloadController : public Actor {
 public:
  bool tick(base::TimePoint now) override;
  std::optional<base::TimePoint> next_due() const override { return later_.next(); }

 protected:
  using Pods = std::map<api::ObjectKey, PodFacts>;
  using StatusEdit = std::function<void(api::Json& status)>;

  WorkloadController(Store& store, EventRecorder& events, kube::ResourceType type);

  /// Reconciles one owner. Returns true if the store was changed.
  virtual bool reconcile(const api::Json& owner, const Pods& pods, base::TimePoint now) = 0;

  /// Called when the owner with that UID is deleted.
  virtual void forget(const std::string& /*uid*/) {}

  /// Reconciles that owner again at `when` or earlier.
  void reconcile_at(const api::Json& owner, base::TimePoint when) { later_.set(key_of(owner), when); }
  void reconcile_all();
  bool create_pod(const api::Json& owner, api::Json pod);
  bool delete_pod(const PodFacts& pod);
  /// Edits the owner's status and sets observedGeneration. Returns true if the object changed.
  bool write_status(const api::Json& owner, const StatusEdit& edit);

  Store& store_;
  EventRecorder& events_;
  Journal journal_;
  kube::ResourceType type_;

 private:
  void on_owner(const Change& change);
  void on_pod(const Change& change);

  std::map<api::ObjectKey, Object> owners_;
  std::map<std::string, api::ObjectKey> key_by_uid_;
  std::map<std::string, Pods> pods_by_owner_;  // by UID of the owner
  std::map<api::ObjectKey, std::string> owner_of_pod_;
  std::set<api::ObjectKey> dirty_;
  Agenda<api::ObjectKey> later_;
};

/// Maintains spec.replicas pods. Deletes unscheduled, then unready, then young pods first, like Kubernetes.
class ReplicaSetController final : public WorkloadController {
 public:
  ReplicaSetController(Store& store, EventRecorder& events) : WorkloadController(store, events, kube::kReplicaSets) {}
  std::string_view name() const override { return "replicaset-controller"; }

 private:
  bool reconcile(const api::Json& owner, const Pods& pods, base::TimePoint now) override;
};

/// Creates pods <name>-0, <name>-1 … one by one (OrderedReady) or together (Parallel) with their
/// PersistentVolumeClaims. Rolling updates start at the highest ordinal.
class StatefulSetController final : public WorkloadController {
 public:
  StatefulSetController(Store& store, EventRecorder& events) : WorkloadController(store, events, kube::kStatefulSets) {}
  std::string_view name() const override { return "statefulset-controller"; }

 private:
  bool reconcile(const api::Json& owner, const Pods& pods, base::TimePoint now) override;
  bool scale(const api::Json& owner, const Pods& pods, const std::string& revision, base::TimePoint now);
  bool shrink(const api::Json& owner, const Pods& pods);
  bool update(const api::Json& owner, const Pods& pods, const std::string& revision);
  bool make_pod(const api::Json& owner, std::int64_t ordinal, const std::string& revision);
  bool make_claims(const api::Json& owner, const std::string& pod_name, api::Json& pod);
};

/// Maintains one pod per node that the template's selector, affinity and tolerations admit. The scheduler binds the
/// pods.
class DaemonSetController final : public WorkloadController {
 public:
  DaemonSetController(Store& store, EventRecorder& events);
  std::string_view name() const override { return "daemonset-controller"; }

 private:
  bool reconcile(const api::Json& owner, const Pods& pods, base::TimePoint now) override;
  bool make_pod(const api::Json& owner, const std::string& node, const std::string& revision);
  bool update(const api::Json& owner, const std::map<std::string, const PodFacts*>& per_node,
              const std::string& revision, std::int64_t wanted);

  std::map<std::string, Object> nodes_;
};

/// Runs pods to completion: completions, parallelism, backoffLimit with exponential backoff, ttlSecondsAfterFinished.
class JobController final : public WorkloadController {
 public:
  JobController(Store& store, EventRecorder& events) : WorkloadController(store, events, kube::kJobs) {}
  std::string_view name() const override { return "job-controller"; }

 private:
  struct Counts;
  /// Finished pods of one Job, by UID.
  struct Ends {
    std::set<std::string> succeeded;
    std::set<std::string> failed;
    base::TimePoint last_failure{};
  };
  void forget(const std::string& uid) override { ends_.erase(uid); }
  Counts count(const api::Json& job, const Pods& pods, base::TimePoint now);
  bool reconcile(const api::Json& owner, const Pods& pods, base::TimePoint now) override;
  bool finish(const api::Json& owner, const Pods& pods, std::string_view type, std::string_view reason,
              const Counts& counts, base::TimePoint now);
  bool keep_running(const api::Json& owner, const Pods& pods, const Counts& counts, base::TimePoint now);
  bool expire(const api::Json& owner, base::TimePoint now);

  std::map<std::string, Ends> ends_;  ///< by UID of the Job
};

/// Maintains one ReplicaSet per template and moves the replicas to the newest: RollingUpdate within maxSurge and
/// maxUnavailable, or Recreate.
class DeploymentController final : public Actor {
 public:
  DeploymentController(Store& store, EventRecorder& events);
  std::string_view name() const override { return "deployment-controller"; }
  bool tick(base::TimePoint now) override;

 private:
  using ReplicaSets = std::map<api::ObjectKey, Object>;
  struct Rollout;

  void on_deployment(const Change& change);
  void on_replica_set(const Change& change);
  bool reconcile(const api::Json& deployment, const ReplicaSets& owned, base::TimePoint now);
  bool roll(const Rollout& rollout);
  bool recreate(const Rollout& rollout);
  bool scale_up_new(const Rollout& rollout);
  bool scale_down_old(const Rollout& rollout);
  bool make_replica_set(const Rollout& rollout, std::int64_t replicas);
  bool scale_to(const api::Json& deployment, const Object& replica_set, std::int64_t replicas);
  bool renumber(const Rollout& rollout);
  bool prune_history(const Rollout& rollout);
  bool report(const Rollout& rollout, base::TimePoint now);

  Store& store_;
  EventRecorder& events_;
  Journal journal_;
  std::map<api::ObjectKey, Object> deployments_;
  std::map<std::string, api::ObjectKey> key_by_uid_;
  std::map<std::string, ReplicaSets> owned_;  // by UID of the Deployment
  std::map<api::ObjectKey, std::string> owner_of_;
  std::set<api::ObjectKey> dirty_;
};

}  // namespace simulator
