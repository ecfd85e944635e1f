#include "simulator/controllers/workloads.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "simulator/objects.hpp"

namespace simulator {

using api::Json;

WorkloadController::WorkloadController(Store& store, EventRecorder& events, kube::ResourceType type)
    : KeyedActor(store), events_(events), type_(type) {
  journal_.on_reset([this] {
    owners_.clear();
    key_by_uid_.clear();
    pods_by_owner_.clear();
    owner_of_pod_.clear();
  });
  journal_.follow(type_, [this](const Change& change) { on_owner(change); });
  journal_.follow(kube::kPods, [this](const Change& change) { on_pod(change); });
}

bool WorkloadController::process(const api::ObjectKey& key, base::TimePoint now) {
  const auto found = owners_.find(key);
  if (found == owners_.end()) return false;
  const Object owner = found->second;
  if (is_terminating(*owner)) return false;  // the garbage collector deletes its pods
  return reconcile(*owner, pods_by_owner_[uid_of(*owner)], now);
}

void WorkloadController::reconcile_all() {
  for (const auto& [key, owner] : owners_) dirty_.insert(key);
}

void WorkloadController::on_owner(const Change& change) {
  const auto known = owners_.find(change.key);
  if (known != owners_.end() &&
      (change.kind == ChangeKind::kDeleted || uid_of(*known->second) != uid_of(*change.object))) {
    key_by_uid_.erase(uid_of(*known->second));
    pods_by_owner_.erase(uid_of(*known->second));
    forget(uid_of(*known->second));
    owners_.erase(known);
    agenda_.drop(change.key);
  }
  if (change.kind == ChangeKind::kDeleted) return;
  owners_[change.key] = change.object;
  key_by_uid_[uid_of(*change.object)] = change.key;
  dirty_.insert(change.key);
}

void WorkloadController::on_pod(const Change& change) {
  const auto mark = [this](const std::string& owner_uid) {
    if (const auto owner = key_by_uid_.find(owner_uid); owner != key_by_uid_.end()) dirty_.insert(owner->second);
  };
  if (const auto known = owner_of_pod_.find(change.key); known != owner_of_pod_.end()) {
    if (const auto pods = pods_by_owner_.find(known->second); pods != pods_by_owner_.end())
      pods->second.erase(change.key);
    mark(known->second);
    owner_of_pod_.erase(known);
  }
  if (change.kind == ChangeKind::kDeleted) return;
  PodFacts facts = facts_of(*change.object);
  if (facts.controller_uid.empty() || facts.controller_kind != type_.kind) return;
  mark(facts.controller_uid);
  owner_of_pod_[change.key] = facts.controller_uid;
  const std::string owner = facts.controller_uid;
  pods_by_owner_[owner][change.key] = std::move(facts);
}

bool WorkloadController::create_pod(const Json& owner, Json pod) {
  complete(store_, kube::kPods, pod);
  const auto admitted = store_.admit(kube::kPods, pod);
  const auto created = admitted ? store_.create(kube::kPods, std::move(pod)) : base::Result<Object>(admitted.error());
  if (!created && created.error().code != base::ErrorCode::kAlreadyExists) {
    events_.warning(name(), owner, "FailedCreate", "Error creating: " + created.error().message);
  }
  return created.ok();
}

bool WorkloadController::delete_pod(const PodFacts& pod) {
  return store_.remove(kube::kPods, pod.key, {pod.uid, ""}).ok();
}

bool WorkloadController::write_status(const Json& owner, const StatusEdit& edit) {
  const auto written = store_.edit(type_, key_of(owner), Part::kStatus, uid_of(owner), [&](Json& object) {
    Json& status = object_in(object, "status");
    edit(status);
    // The generation that was reconciled, which may no longer be the newest.
    if (const auto generation = api::number_at(owner, {"metadata", "generation"}))
      status["observedGeneration"] = *generation;
  });
  return is_newer(written, owner);
}

}  // namespace simulator
