#pragma once

#include <functional>
#include <map>
#include <string>

#include "simulator/controllers/controllers.hpp"
#include "simulator/keyed_actor.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator {

/// Base class of the controllers of workloads with pods: owners of one kind with the pods that they control.
class WorkloadController : public KeyedActor<api::ObjectKey> {
 protected:
  using Pods = std::map<api::ObjectKey, PodFacts>;
  using StatusEdit = std::function<void(api::Json& status)>;

  WorkloadController(Store& store, EventRecorder& events, kube::ResourceType type);

  /// Reconciles one owner. Returns true if the store was changed.
  virtual bool reconcile(const api::Json& owner, const Pods& pods, base::TimePoint now) = 0;

  /// Called when the owner with that UID is deleted.
  virtual void forget(const std::string& /*uid*/) {}

  /// Reconciles that owner again at `when` or earlier.
  void reconcile_at(const api::Json& owner, base::TimePoint when) { agenda_.set(key_of(owner), when); }
  void reconcile_all();
  bool create_pod(const api::Json& owner, api::Json pod);
  bool delete_pod(const PodFacts& pod);
  /// Edits the owner's status and sets observedGeneration. Returns true if the object changed.
  bool write_status(const api::Json& owner, const StatusEdit& edit);

  EventRecorder& events_;
  kube::ResourceType type_;

 private:
  bool process(const api::ObjectKey& key, base::TimePoint now) override;
  void on_owner(const Change& change);
  void on_pod(const Change& change);

  std::map<api::ObjectKey, Object> owners_;
  std::map<std::string, api::ObjectKey> key_by_uid_;
  std::map<std::string, Pods> pods_by_owner_;  // by UID of the owner
  std::map<api::ObjectKey, std::string> owner_of_pod_;
};

}  // namespace simulator
