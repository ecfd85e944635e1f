/// Hypothetical cluster of the reservations: the snapshot with the surge pods that do not exist yet.

#include <algorithm>
#include <iterator>
#include <utility>

#include "controllers/admission/reservations.hpp"
#include "planner/snapshot/object_order.hpp"

namespace controllers {
namespace {

using scheduling::PodIndex;

/// No pod can have this name.
std::string surge_pod_name(const api::ObjectKey& key) { return "capacity-for/" + key.to_string(); }

/// Unscheduled copy of the pod with the same requests.
std::shared_ptr<const api::Pod> surge_pod_of(const api::Pod& pod, const api::ObjectKey& key, base::TimePoint now) {
  api::Pod copy = pod;
  copy.meta.name = surge_pod_name(key);
  copy.meta.uid = copy.meta.name;
  copy.meta.creation_timestamp = now;
  copy.meta.deletion_timestamp.reset();
  copy.node_name = {};
  copy.phase = api::PodPhase::kPending;
  return std::make_shared<const api::Pod>(std::move(copy));
}

/// Pods of each controller in `owners`, by age and name. Reads no other objects, which dominates the cost in a large
/// cluster.
std::map<std::string, std::vector<const api::Pod*>> pods_of_controllers(const scheduling::ClusterSnapshot& cluster,
                                                                        const std::set<std::string>& owners) {
  std::vector<bool> is_wanted(cluster.owner_count(), false);
  for (const std::string& uid : owners) {
    if (const auto owner = cluster.find_owner(uid)) is_wanted[*owner] = true;
  }
  std::map<std::string, std::vector<const api::Pod*>> pods;
  for (const PodIndex index : cluster.pods()) {
    const auto main = cluster.main_owner_of(index);
    if (!main || !is_wanted[*main]) continue;
    const api::Pod& pod = cluster.pod(index);
    if (const api::OwnerReference* controller = pod.meta.controller()) pods[controller->uid].push_back(&pod);
  }
  const auto comes_before = [](const api::Pod* a, const api::Pod* b) {
    return scheduling::comes_before(a->meta, b->meta);
  };
  for (auto& [owner, all] : pods) std::ranges::sort(all, comes_before);
  return pods;
}

/// Returns nullptr if the cluster does not show the pod.
const api::Pod* find_pod(const scheduling::ClusterSnapshot& cluster, const std::string& ns, const std::string& name,
                         const std::string& uid) {
  const auto found = cluster.find_pod(ns, name);
  return found && cluster.pod(*found).meta.uid == uid ? &cluster.pod(*found) : nullptr;
}

bool is_there(const scheduling::ClusterSnapshot& cluster, const api::Pod& pod) {
  const api::Pod* found = find_pod(cluster, pod.meta.ns, pod.meta.name, pod.meta.uid);
  return found != nullptr && !found->is_terminal();
}

}  // namespace

/// Surge pods that exist by now: pods of the same controller that came after the reservation and are bound to a node.
/// Each one replaces a single reservation. Only times of the API server are compared. A local reservation has the
/// UIDs of the pods that existed before; for a reservation of another leader, only a pod younger than the Evacuation
/// and on the reserved node counts. In case of doubt the capacity is held twice until the attempt ends, never given
/// twice.
class Reservations::ActualSurgePods {
 public:
  /// `pods`: by UID of their controller.
  explicit ActualSurgePods(const std::map<std::string, std::vector<const api::Pod*>>& pods) {
    const auto is_there = [](const api::Pod* pod) { return !pod->node_name.empty() && !pod->is_terminal(); };
    for (const auto& [owner, all] : pods) std::ranges::copy_if(all, std::back_inserter(by_owner_[owner]), is_there);
  }

  bool take_one_for(const api::Pod& pod, const Reservation& reservation) {
    return take_first(pod, [&](const api::Pod& each) { return came_after(reservation, each); });
  }
  /// A replacement on any node.
  bool take_one_for(const KeptPlace& kept) {
    return take_first(*kept.pod, [&](const api::Pod& each) { return each.meta.creation_timestamp >= kept.asked; });
  }

 private:
  template <typename Matches>
  bool take_first(const api::Pod& pod, Matches matches) {
    const api::OwnerReference* owner = pod.meta.controller();
    const auto candidates = owner ? by_owner_.find(owner->uid) : by_owner_.end();
    if (candidates == by_owner_.end()) return false;
    return std::erase_if(candidates->second, [&, taken = false](const api::Pod* each) mutable {
             if (taken || each->meta.uid == pod.meta.uid || !matches(*each)) return false;
             return taken = true;
           }) > 0;
  }

  static bool came_after(const Reservation& reservation, const api::Pod& pod) {
    if (reservation.siblings) return !reservation.siblings->contains(pod.meta.uid);
    return pod.meta.creation_timestamp >= reservation.asked && pod.node_name.value == reservation.node;
  }

  std::map<std::string, std::vector<const api::Pod*>> by_owner_;
};

/// Adds a surge pod to the what-if snapshot for each Evacuation that waits for capacity or has reserved it. Reserved
/// ones are placed on their nodes unless the actual surge pod exists already.
void Reservations::take_snapshot(base::TimePoint now) {
  what_if_.reset();
  const scheduling::ClusterSnapshot& actual_cluster = snapshots_.at(snapshot_());
  std::map<api::ObjectKey, const api::Pod*> originals;
  std::set<std::string> owners;
  for (const auto& [key, pod] : pods_) {
    const api::Pod* original = find_pod(actual_cluster, key.ns, pod.first, pod.second);
    if (original == nullptr) continue;  // gone, so the snapshot already contains its surge pod
    originals[key] = original;
    if (original->meta.controller()) owners.insert(original->meta.controller()->uid);
  }
  const auto controlled = pods_of_controllers(actual_cluster, owners);
  ActualSurgePods actual(controlled);
  std::set<api::ObjectKey> replaced;
  scheduling::SnapshotInput::List<api::Pod> imagined;
  for (const auto& [key, original] : originals) {
    const auto reservation = reservations_.find(key);
    if (reservation != reservations_.end() && actual.take_one_for(*original, reservation->second)) replaced.insert(key);
    imagined.push_back(surge_pod_of(*original, key, now));
  }
  for (auto& [key, copy] : missing_replacements(actual_cluster, now)) imagined.push_back(std::move(copy));
  std::map<std::string, std::set<std::string>> siblings;
  for (const auto& [owner, pods] : controlled) {
    for (const api::Pod* pod : pods) siblings[owner].insert(pod->meta.uid);
  }
  what_if_ = std::make_unique<WhatIf>(snapshots_.add(std::move(imagined)), now);
  what_if_->siblings = std::move(siblings);
  for (const auto& [key, pod] : pods_) {
    if (const auto index = what_if_->cluster.find_pod(key.ns, surge_pod_name(key))) what_if_->surge_pods[key] = *index;
  }
  for (const auto& [key, reservation] : reservations_) {
    if (!replaced.contains(key)) place(key, reservation.node);
  }
  place_leaving();
}

std::vector<std::pair<api::ObjectKey, std::shared_ptr<const api::Pod>>> Reservations::missing_replacements(
    const scheduling::ClusterSnapshot& cluster, base::TimePoint now) const {
  std::vector<std::pair<api::ObjectKey, const KeptPlace*>> gone;
  std::set<std::string> owners;
  for (const auto& [key, kept] : held_places_) {
    const api::OwnerReference* owner = kept.pod->meta.controller();
    if (!owner || pods_.contains(key) || is_there(cluster, *kept.pod)) continue;
    gone.emplace_back(key, &kept);
    owners.insert(owner->uid);
  }
  std::vector<std::pair<api::ObjectKey, std::shared_ptr<const api::Pod>>> missing;
  if (gone.empty()) return missing;
  ActualSurgePods actual(pods_of_controllers(cluster, owners));
  for (const auto& [key, kept] : gone) {
    if (!actual.take_one_for(*kept)) missing.emplace_back(key, surge_pod_of(*kept->pod, key, now));
  }
  return missing;
}

void Reservations::place_leaving() {
  const scheduling::ClusterSnapshot& cluster = what_if_->cluster;
  for (const auto& [key, kept] : held_places_) {
    const auto node = cluster.find_node(kept.node);
    if (!node || pods_.contains(key)) continue;
    const std::string name = is_there(cluster, *kept.pod) ? kept.pod->meta.name : surge_pod_name(key);
    if (const auto pod = cluster.find_pod(key.ns, name)) what_if_->what_if.move(*pod, *node);
  }
}

/// Places the surge pod on the node; "" removes it.
void Reservations::place(const api::ObjectKey& key, const std::string& node) {
  if (!what_if_) return;
  const auto copy = what_if_->surge_pods.find(key);
  if (copy == what_if_->surge_pods.end()) return;
  what_if_->what_if.move(copy->second, what_if_->cluster.find_node(node).value_or(scheduling::kNoNode));
}

}  // namespace controllers
