#include "controllers/admission/reservations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "api/meta/condition.hpp"
#include "api/vocabulary/blockers.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "planner/scheduling/predicates.hpp"
#include "planner/snapshot/object_order.hpp"

namespace controllers {
namespace {

using scheduling::NodeIndex;
using scheduling::PodIndex;

/// Maximum age of a snapshot (later reservations are in its WhatIf), and minimum time between two snapshots.
constexpr base::seconds kSnapshotAge{10};
constexpr base::seconds kSnapshotGap{1};
/// Number of waiting Evacuations woken when capacity is released.
constexpr std::size_t kWakeAtOnce = 8;
/// Maximum number of nodes with a full target-node limit that are skipped.
constexpr int kTargetTries = 8;

/// Larger than left_on() of any node.
constexpr std::int64_t kPreferred = 1000;

constexpr const char* kTargetsFull = "the limit inFlight.perTargetNode is reached on every node that has free capacity";

std::string surge_pod_name(const api::ObjectKey& key) {
  return "capacity-for/" + key.to_string();
}  // no pod can have this name

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

bool has_capacity_reserved(const api::Evacuation& evacuation) {
  const auto* slot = api::find_condition(evacuation.status.conditions, api::ConditionType::kSlotAcquired);
  const bool is_reserved = slot && slot->reason == api::Reason::kCapacityReserved;
  return is_reserved && holds_arrival_slot(evacuation) && !evacuation.status.target_node.empty();
}

std::string amounts(const scheduling::ClusterSnapshot& cluster, PodIndex pod) {
  const auto& requests = cluster.requests(pod);
  const std::int64_t cpu = scheduling::amount_of(requests, scheduling::kCpuIndex);
  const std::int64_t memory = scheduling::amount_of(requests, scheduling::kMemoryIndex) / 1000;
  return fmt::format("{}m cpu and {}Mi memory", cpu, (memory + (1 << 20) - 1) / (1 << 20));
}

/// Share of CPU and memory that would be left, in whole percent; the smaller of both.
std::int64_t left_on(const scheduling::WhatIf& what_if, PodIndex pod, NodeIndex node) {
  const auto percent = [&](scheduling::ResourceIndex resource) -> std::int64_t {
    const std::int64_t all = what_if.base().allocatable().get(node, resource);
    const std::int64_t asked = scheduling::amount_of(what_if.base().requests(pod), resource);
    return all <= 0 ? 0
                    : static_cast<std::int64_t>(100.0 *
                                                static_cast<double>(all - what_if.used().get(node, resource) - asked) /
                                                static_cast<double>(all));
  };
  return std::min(percent(scheduling::kCpuIndex), percent(scheduling::kMemoryIndex));
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

/// Whether the pod exists and is not terminal.
bool is_there(const scheduling::ClusterSnapshot& cluster, const api::Pod& pod) {
  const api::Pod* found = find_pod(cluster, pod.meta.ns, pod.meta.name, pod.meta.uid);
  return found != nullptr && !found->is_terminal();
}

}  // namespace

struct Reservations::WhatIf {
  WhatIf(const scheduling::ClusterSnapshot& snapshot, base::TimePoint now)
      : taken(now), cluster(snapshot), what_if(snapshot) {}

  const base::TimePoint taken;
  const scheduling::ClusterSnapshot& cluster;  ///< owned by snapshots_
  scheduling::WhatIf what_if;
  std::map<api::ObjectKey, PodIndex> surge_pods;
  /// UIDs of the pods of each controller whose pods want a surge pod.
  std::map<std::string, std::set<std::string>> siblings;
};

Reservations::Reservations(Snapshot snapshot, const base::Clock& clock, Wake wake)
    : snapshot_(std::move(snapshot)), clock_(clock), wake_(std::move(wake)) {}
Reservations::~Reservations() = default;

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

Reservations::Outcome Reservations::best_node(const PlacementRequest& wanted, const std::set<std::string>& not_on) {
  const scheduling::WhatIf& what_if = what_if_->what_if;
  const PodIndex copy = what_if_->surge_pods.at(wanted.request.key);
  const scheduling::FitQuery query(what_if, copy, scheduling::FitLevel::kScheduler);
  std::map<std::string_view, int> refusals;
  std::optional<std::pair<std::int64_t, NodeIndex>> best;
  for (const NodeIndex node : what_if_->cluster.nodes()) {
    const std::string& name = what_if_->cluster.node(node).meta.name;
    if (name == wanted.surge_pod.pod->node_name.value) continue;
    if (const auto refusal = query.refusal(node)) {
      ++refusals[refusal->reason];
    } else if (wanted.emptied.contains(name)) {
      ++refusals["NodeTakesNoPods"];
    } else if (not_on.contains(name)) {
      ++refusals["TargetNodeLimit"];
    } else {
      const std::int64_t left = name == wanted.request.target_node ? kPreferred : left_on(what_if, copy, node);
      if (!best || left > best->first) best = {left, node};
    }
  }
  if (best) return {what_if_->cluster.node(best->second).meta.name, {}, {}};
  std::string reasons;
  for (const auto& [reason, count] : refusals)
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", count, reason);
  return {{},
          fmt::format("needs {} for a surge pod, and none of {} other nodes has enough free capacity{}{}",
                      amounts(what_if_->cluster, copy), what_if_->cluster.node_count() - 1, reasons.empty() ? "" : ": ",
                      reasons),
          {}};
}

std::string Reservations::hold_place(const AdmissionRequest& request, const api::Pod& pod,
                                     const std::set<std::string>& emptied) {
  const std::scoped_lock lock(mutex_);
  held_places_.erase(request.key);
  const base::TimePoint now = clock_.now();
  if (!what_if_ || now >= what_if_->taken + kSnapshotGap || now < what_if_->taken) take_snapshot(now);
  const scheduling::ClusterSnapshot& cluster = what_if_->cluster;
  const auto index = cluster.find_pod(pod.meta.ns, pod.meta.name);
  if (!index || cluster.pod(*index).meta.uid != pod.meta.uid) return {};
  const scheduling::FitQuery query(what_if_->what_if, *index, scheduling::FitLevel::kScheduler);
  std::optional<std::pair<std::int64_t, NodeIndex>> best;
  for (const NodeIndex node : cluster.nodes()) {
    const std::string& name = cluster.node(node).meta.name;
    if (name == pod.node_name.value || emptied.contains(name) || !query.fits(node)) continue;
    const std::int64_t left = name == request.target_node ? kPreferred : left_on(what_if_->what_if, *index, node);
    if (!best || left > best->first) best = {left, node};
  }
  if (!best) {
    return fmt::format(
        "no node has enough free capacity any more, except the {} that the plan empties: the remaining moves are "
        "planned again",
        emptied.size());
  }
  held_places_[request.key] = {std::make_shared<const api::Pod>(pod), cluster.node(best->second).meta.name,
                               request.created};
  what_if_->what_if.move(*index, best->second);
  return {};
}

/// An earlier reservation is valid for this attempt as well.
const Reservations::Reservation* Reservations::held_for(const PlacementRequest& wanted) {
  const auto held = reservations_.find(wanted.request.key);
  if (held == reservations_.end()) {
    pods_[wanted.request.key] = {wanted.surge_pod.pod->meta.name, wanted.surge_pod.pod->meta.uid};
    return nullptr;
  }
  if (std::exchange(held->second.attempt, wanted.request.attempt) != wanted.request.attempt)
    held->second.stored = false;
  return &held->second;
}

std::optional<base::TimePoint> Reservations::refresh_what_if(const std::vector<const PlacementRequest*>& wanted) {
  const base::TimePoint now = clock_.now();
  const auto shows_all = [&] {
    return what_if_ && std::all_of(wanted.begin(), wanted.end(), [&](const PlacementRequest* each) {
             return what_if_->surge_pods.contains(each->request.key);
           });
  };
  const bool known = shows_all();
  if (what_if_ && !known && now < what_if_->taken + kSnapshotGap && now >= what_if_->taken)
    return what_if_->taken + kSnapshotGap;
  if (!known || now >= what_if_->taken + kSnapshotAge || now < what_if_->taken) take_snapshot(now);
  if (!shows_all()) return now + kSnapshotGap;  // the cache does not show the pod
  return std::nullopt;
}

void Reservations::reserve_on(const PlacementRequest& wanted, const std::string& node) {
  std::set<std::string> siblings = wanted.surge_pod.siblings;
  if (const api::OwnerReference* owner = wanted.surge_pod.pod->meta.controller()) {
    // A request with a PodGroup may list them from an older observation.
    const auto& seen = what_if_->siblings[owner->uid];
    siblings.insert(seen.begin(), seen.end());
  }
  reservations_[wanted.request.key] = {node, wanted.request.attempt, std::move(siblings), wanted.request.created,
                                       false};
  place(wanted.request.key, node);
}

void Reservations::stop_waiting(const api::ObjectKey& key) {
  const auto waits = waiting_.find(key);
  if (waits == waiting_.end()) return;
  waiting_in_order_.erase(waits->second);
  waiting_.erase(waits);
}

void Reservations::wait(const AdmissionRequest& request) {
  stop_waiting(request.key);
  waiting_in_order_.insert(waiting_[request.key] = admission_order(request));
}

Reservations::Outcome Reservations::reserve(const PlacementRequest& wanted, const std::set<std::string>& not_on) {
  const std::scoped_lock lock(mutex_);
  if (const Reservation* held = held_for(wanted)) return {held->node, {}, {}};
  if (const auto retry_at = refresh_what_if({&wanted})) return {{}, {}, retry_at};
  Outcome outcome = best_node(wanted, not_on);
  if (outcome.node.empty()) {
    wait(wanted.request);
  } else {
    stop_waiting(wanted.request.key);
    reserve_on(wanted, outcome.node);
  }
  return outcome;
}

/// Returns a node with free capacity whose limit allows one more arrival.
Reservations::Outcome Reservations::best_node_below_limit(const PlacementRequest& wanted, const Takes& takes) {
  std::set<std::string> full;
  Outcome outcome;
  for (int i = 0; i < kTargetTries; ++i) {
    outcome = best_node(wanted, full);
    if (outcome.node.empty() || takes(wanted.request.key, outcome.node)) return outcome;
    full.insert(std::exchange(outcome.node, {}));
  }
  outcome.message = kTargetsFull;
  return outcome;
}

std::optional<Reservations::Outcome> Reservations::reserve_all(const std::vector<PlacementRequest>& wanted,
                                                               const Takes& takes) {
  const std::scoped_lock lock(mutex_);
  std::vector<const PlacementRequest*> open;
  for (const PlacementRequest& each : wanted) {
    if (!held_for(each)) open.push_back(&each);
  }
  if (open.empty()) return std::nullopt;
  if (const auto retry_at = refresh_what_if(open)) return Outcome{{}, {}, retry_at};
  const auto size = [this](const PlacementRequest* each) {
    const auto& requests = what_if_->cluster.requests(what_if_->surge_pods.at(each->request.key));
    return std::pair(scheduling::amount_of(requests, scheduling::kMemoryIndex),
                     scheduling::amount_of(requests, scheduling::kCpuIndex));
  };
  std::stable_sort(open.begin(), open.end(), [&](auto* a, auto* b) { return size(a) > size(b); });
  for (auto at = open.begin(); at != open.end(); ++at) {
    Outcome outcome = best_node_below_limit(**at, takes);
    if (!outcome.node.empty()) {
      reserve_on(**at, outcome.node);
      continue;
    }
    for (auto before = open.begin(); before != at; ++before) {
      reservations_.erase((*before)->request.key);
      place((*before)->request.key, "");
    }
    wait((*at)->request);  // its wake makes the whole PodGroup request again
    outcome.message = fmt::format("pod {} {}", (*at)->surge_pod.pod->meta.name, outcome.message);
    return outcome;
  }
  for (const PlacementRequest* each : open) stop_waiting(each->request.key);
  return std::nullopt;
}

void Reservations::drop(const api::ObjectKey& key, std::vector<api::ObjectKey>& awake) {
  pods_.erase(key);
  held_places_.erase(key);
  stop_waiting(key);
  if (reservations_.erase(key) == 0) return;
  place(key, "");
  for (const AdmissionOrder& each : waiting_in_order_) {
    if (awake.size() == kWakeAtOnce) break;
    awake.push_back(std::get<api::ObjectKey>(each));
  }
}

void Reservations::wake(const std::vector<api::ObjectKey>& keys) const {
  for (const api::ObjectKey& key : keys) {
    if (wake_) wake_(key, kSnapshotGap);  // delayed until the snapshot shows the departed pod as gone
  }
}

void Reservations::release_unused(const api::ObjectKey& key) {
  std::vector<api::ObjectKey> awake;
  {
    const std::scoped_lock lock(mutex_);
    const auto held = reservations_.find(key);
    if (held != reservations_.end() && held->second.stored) return;
    drop(key, awake);
  }
  wake(awake);
}

void Reservations::abandon(const api::ObjectKey& key, const std::string& resource_version) {
  std::vector<api::ObjectKey> awake;
  {
    const std::scoped_lock lock(mutex_);
    abandoned_[key] = resource_version;
    drop(key, awake);
  }
  wake(awake);
}

void Reservations::observe(const api::Evacuation* before, const api::Evacuation* after) {
  std::vector<api::ObjectKey> awake;
  {
    const std::scoped_lock lock(mutex_);
    const api::ObjectKey key = (after ? after : before)->meta.key();
    const auto given_up = abandoned_.find(key);
    if (given_up != abandoned_.end() && after && after->meta.resource_version == given_up->second) return;
    if (given_up != abandoned_.end()) abandoned_.erase(given_up);
    const bool is_remade = before && after && before->meta.uid != after->meta.uid;
    if (is_remade) drop(key, awake);
    const auto held = reservations_.find(key);
    const bool over = !after || api::is_terminal(after->status.phase);
    const bool reserves = !over && has_capacity_reserved(*after);
    const bool gave_back = !over && !reserves && held != reservations_.end() && held->second.stored &&
                           after->status.attempt >= held->second.attempt;
    if (over || gave_back) {
      drop(key, awake);
    } else if (reserves) {
      const std::string& node = after->status.target_node.value;
      if (held == reservations_.end()) {  // reserved by another leader
        pods_[key] = {after->spec.pod_ref.name, after->spec.pod_ref.uid.value};
        reservations_[key] = {node, after->status.attempt, std::nullopt, after->meta.creation_timestamp, true};
        what_if_.reset();
      } else if (after->status.attempt >= held->second.attempt) {
        held->second.stored = true;
        if (std::exchange(held->second.node, node) != node) place(key, node);
      }
    }
  }
  wake(awake);
}

std::size_t Reservations::held() const {
  const std::scoped_lock lock(mutex_);
  return reservations_.size();
}

Slot no_capacity(const Reservations::Outcome& outcome) {
  Slot slot;
  slot.state = Slot::State::kWaiting;
  slot.retry_at = outcome.retry_at;
  if (outcome.retry_at) return slot;  // not known yet, so there is no blocker to report
  slot.limit.emplace();
  slot.limit->kind = to_string(api::BlockerKind::kCapacity);
  slot.limit->message = outcome.message;
  return slot;
}

Admission request_with_capacity(AdmissionQueue& queue, Reservations& reservations,
                                const Reservations::PlacementRequest& wanted) {
  const api::ObjectKey& key = wanted.request.key;
  Admission admission = queue.request(wanted.request);
  if (!wanted.surge_pod.pod || admission.slot.state != Slot::State::kGranted) return admission;
  std::set<std::string> full;
  Reservations::Outcome outcome;
  for (int i = 0; i < kTargetTries; ++i) {
    outcome = reservations.reserve(wanted, full);
    if (outcome.node.empty()) break;
    if (queue.set_target_node(key, outcome.node)) {
      admission.slot.reserved_node = outcome.node;
      return admission;
    }
    reservations.release_unused(key);
    full.insert(outcome.node);
    outcome.message = kTargetsFull;
  }
  queue.withdraw(key);
  admission.slot = no_capacity(outcome);
  return admission;
}

}  // namespace controllers
