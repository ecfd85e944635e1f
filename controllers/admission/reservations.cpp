#include "controllers/admission/reservations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "api/meta/condition.hpp"
#include "scheduling/predicates.hpp"

namespace controllers {
namespace {

using scheduling::NodeIndex;
using scheduling::PodIndex;

/// A snapshot is good for this long; what is reserved meanwhile is in the overlay.
constexpr base::seconds kSceneAge{10};
constexpr base::seconds kSceneGap{1};
/// So many of those that wait for free capacity look again when some is given back.
constexpr std::size_t kWakeAtOnce = 8;
/// Nodes whose target-node limit is full are passed over this many times.
constexpr int kTargetTries = 8;

constexpr const char* kTargetsFull = "the target node's limit is full on every node that has free capacity";

std::string copy_name(const api::ObjectKey& key) { return "capacity-for/" + key.to_string(); }  // no pod is named so

/// The pod as it will be a second time: the same wishes, nowhere yet.
std::shared_ptr<const api::Pod> copy_of(const api::Pod& pod, const api::ObjectKey& key, base::TimePoint now) {
  api::Pod copy = pod;
  copy.meta.name = copy_name(key);
  copy.meta.uid = copy.meta.name;
  copy.meta.creation_timestamp = now;
  copy.meta.deletion_timestamp.reset();
  copy.node_name = {};
  copy.phase = api::PodPhase::kPending;
  return std::make_shared<const api::Pod>(std::move(copy));
}

bool has_capacity_reserved(const api::Evacuation& evacuation) {
  const auto* slot = api::find_condition(evacuation.status.conditions, "SlotAcquired");
  return slot && slot->reason == kCapacityReserved && holds_arrival_slot(evacuation) &&
         !evacuation.status.target_node.empty();
}

std::string amounts(const scheduling::ClusterSnapshot& cluster, PodIndex pod) {
  const auto& requests = cluster.requests(pod);
  const std::int64_t cpu = scheduling::amount_of(requests, scheduling::kCpuIndex);
  const std::int64_t memory = scheduling::amount_of(requests, scheduling::kMemoryIndex) / 1000;
  return fmt::format("{}m cpu and {}Mi memory", cpu, (memory + (1 << 20) - 1) / (1 << 20));
}

/// Share of cpu and memory that would be left, in whole percents; the smaller of the two.
std::int64_t left_on(const scheduling::Overlay& overlay, PodIndex pod, NodeIndex node) {
  const auto percent = [&](scheduling::ResourceIndex resource) -> std::int64_t {
    const std::int64_t all = overlay.base().allocatable().get(node, resource);
    const std::int64_t asked = scheduling::amount_of(overlay.base().requests(pod), resource);
    return all <= 0 ? 0
                    : static_cast<std::int64_t>(100.0 *
                                                static_cast<double>(all - overlay.used().get(node, resource) - asked) /
                                                static_cast<double>(all));
  };
  return std::min(percent(scheduling::kCpuIndex), percent(scheduling::kMemoryIndex));
}

}  // namespace

struct Reservations::Scene {
  explicit Scene(scheduling::SnapshotInput input, base::TimePoint now)
      : taken(now), cluster(std::move(input)), overlay(cluster) {}

  const base::TimePoint taken;
  const scheduling::ClusterSnapshot cluster;
  scheduling::Overlay overlay;
  std::map<api::ObjectKey, PodIndex> copies;
  /// UIDs of the pods of each controller whose pods want a copy.
  std::map<std::string, std::set<std::string>> siblings;
};

Reservations::Reservations(Snapshot snapshot, const base::Clock& clock, Wake wake)
    : snapshot_(std::move(snapshot)), clock_(clock), wake_(std::move(wake)) {}
Reservations::~Reservations() = default;

/// Copies that exist by now: pods of the same controller that came after the promise and are bound to a node. Each
/// stands for one promise only. No clocks are compared but the API server's with itself: whoever reserved knows the
/// pods that were there by UID; of another leader's promise only a pod counts that is younger than the Evacuation and
/// on the reserved node. In doubt the free capacity is held twice until the attempt ends, never given twice.
class Reservations::RealCopies {
 public:
  /// Looks at pods of these controllers (UIDs).
  RealCopies(const scheduling::SnapshotInput& input, const std::set<std::string>& owners) {
    for (const auto& pod : input.pods) {
      const api::OwnerReference* owner =
          pod && !pod->node_name.empty() && !pod->is_terminal() ? pod->meta.controller() : nullptr;
      if (owner && owners.contains(owner->uid)) by_owner_[owner->uid].push_back(pod.get());
    }
  }

  bool take_one_for(const api::Pod& pod, const Reservation& reserve_on) {
    const api::OwnerReference* owner = pod.meta.controller();
    const auto candidates = owner ? by_owner_.find(owner->uid) : by_owner_.end();
    if (candidates == by_owner_.end()) return false;
    return std::erase_if(candidates->second, [&, taken = false](const api::Pod* each) mutable {
             if (taken || each->meta.uid == pod.meta.uid || !came_after(reserve_on, *each)) return false;
             return taken = true;
           }) > 0;
  }

 private:
  static bool came_after(const Reservation& reserve_on, const api::Pod& pod) {
    if (reserve_on.siblings) return !reserve_on.siblings->contains(pod.meta.uid);
    return pod.meta.creation_timestamp >= reserve_on.asked && pod.node_name.value == reserve_on.node;
  }

  std::map<std::string, std::vector<const api::Pod*>> by_owner_;
};

/// Everybody who waits for free capacity or was reserved some gets a copy in the snapshot; reserved ones are put where
/// they were reserved, unless the real copy is there already.
void Reservations::take_scene(base::TimePoint now) {
  scheduling::SnapshotInput input = snapshot_();
  std::unordered_map<std::string_view, std::shared_ptr<const api::Pod>> originals;
  for (const auto& [key, pod] : pods_) originals.emplace(pod.second, nullptr);
  for (const auto& each : input.pods) {
    if (!each) continue;
    if (const auto at = originals.find(each->meta.uid); at != originals.end()) at->second = each;
  }
  std::set<std::string> owners;
  for (const auto& [uid, pod] : originals) {
    if (pod && pod->meta.controller()) owners.insert(pod->meta.controller()->uid);
  }
  std::set<api::ObjectKey> real;
  RealCopies copies(input, owners);
  scheduling::SnapshotInput::List<api::Pod> imagined;
  for (const auto& [key, pod] : pods_) {
    const auto& original = originals.at(pod.second);
    if (!original) continue;  // gone: its free capacity on the source is free, and its copy is real
    const auto reserve_on = reservations_.find(key);
    if (reserve_on != reservations_.end() && copies.take_one_for(*original, reserve_on->second)) real.insert(key);
    imagined.push_back(copy_of(*original, key, now));
  }
  std::map<std::string, std::set<std::string>> siblings;
  for (const auto& pod : input.pods) {
    const api::OwnerReference* owner = pod ? pod->meta.controller() : nullptr;
    if (owner && owners.contains(owner->uid)) siblings[owner->uid].insert(pod->meta.uid);
  }
  input.pods.insert(input.pods.end(), imagined.begin(), imagined.end());
  scene_ = std::make_unique<Scene>(std::move(input), now);
  scene_->siblings = std::move(siblings);
  for (const auto& [key, pod] : pods_) {
    if (const auto index = scene_->cluster.find_pod(key.ns, copy_name(key))) scene_->copies[key] = *index;
  }
  for (const auto& [key, reserve_on] : reservations_) {
    if (!real.contains(key)) place(key, reserve_on.node);
  }
}

/// Puts the copy on the node; "" takes it off.
void Reservations::place(const api::ObjectKey& key, const std::string& node) {
  if (!scene_) return;
  const auto copy = scene_->copies.find(key);
  if (copy == scene_->copies.end()) return;
  scene_->overlay.move(copy->second, scene_->cluster.find_node(node).value_or(scheduling::kNoNode));
}

Reservations::Answer Reservations::look(const Wish& wish, const std::set<std::string>& not_on) {
  const scheduling::Overlay& overlay = scene_->overlay;
  const PodIndex copy = scene_->copies.at(wish.request.key);
  const scheduling::FitQuery query(overlay, copy, scheduling::FitLevel::kScheduler);
  std::map<std::string_view, int> refusals;
  std::optional<std::pair<std::int64_t, NodeIndex>> best;
  for (const NodeIndex node : scene_->cluster.nodes()) {
    const std::string& name = scene_->cluster.node(node).meta.name;
    if (name == wish.copy.pod->node_name.value) continue;
    if (const auto refusal = query.refusal(node)) {
      ++refusals[refusal->reason];
    } else if (not_on.contains(name)) {
      ++refusals["TargetNodeLimit"];
    } else {
      const std::int64_t left = name == wish.request.target_node ? 1000 : left_on(overlay, copy, node);
      if (!best || left > best->first) best = {left, node};
    }
  }
  if (best) return {scene_->cluster.node(best->second).meta.name, {}, {}};
  std::string reasons;
  for (const auto& [reason, count] : refusals)
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", count, reason);
  return {{},
          fmt::format("needs {} for a surge pod, and none of {} other nodes has it{}{}", amounts(scene_->cluster, copy),
                      scene_->cluster.node_count() - 1, reasons.empty() ? "" : ": ", reasons),
          {}};
}

/// What it was reserved before, which is good for this attempt, too; else it is noted that it wants a copy.
const Reservations::Reservation* Reservations::held_by(const Wish& wish) {
  const auto held = reservations_.find(wish.request.key);
  if (held == reservations_.end()) {
    pods_[wish.request.key] = {wish.copy.pod->meta.name, wish.copy.pod->meta.uid};
    return nullptr;
  }
  if (std::exchange(held->second.attempt, wish.request.attempt) != wish.request.attempt) held->second.stored = false;
  return &held->second;
}

std::optional<base::TimePoint> Reservations::set_scene(const std::vector<const Wish*>& wishes) {
  const base::TimePoint now = clock_.now();
  const auto shows_all = [&] {
    return scene_ && std::all_of(wishes.begin(), wishes.end(),
                                 [&](const Wish* each) { return scene_->copies.contains(each->request.key); });
  };
  const bool known = shows_all();
  if (scene_ && !known && now < scene_->taken + kSceneGap && now >= scene_->taken) return scene_->taken + kSceneGap;
  if (!known || now >= scene_->taken + kSceneAge || now < scene_->taken) take_scene(now);
  if (!shows_all()) return now + kSceneGap;  // the cache does not show the pod
  return std::nullopt;
}

void Reservations::reserve_on(const Wish& wish, const std::string& node) {
  std::set<std::string> siblings = wish.copy.siblings;
  if (const api::OwnerReference* owner = wish.copy.pod->meta.controller()) {
    const auto& seen = scene_->siblings[owner->uid];  // who asks with a PodGroup may have looked a while ago
    siblings.insert(seen.begin(), seen.end());
  }
  reservations_[wish.request.key] = {node, wish.request.attempt, std::move(siblings), wish.request.created, false};
  place(wish.request.key, node);
}

void Reservations::leave_line(const api::ObjectKey& key) {
  const auto waits = waiting_.find(key);
  if (waits == waiting_.end()) return;
  line_.erase(waits->second);
  waiting_.erase(waits);
}

void Reservations::stand_in_line(const AdmissionRequest& request) {
  leave_line(request.key);
  line_.insert(waiting_[request.key] = admission_order(request));
}

Reservations::Answer Reservations::reserve(const Wish& wish, const std::set<std::string>& not_on) {
  const std::scoped_lock lock(mutex_);
  if (const Reservation* held = held_by(wish)) return {held->node, {}, {}};
  if (const auto retry_at = set_scene({&wish})) return {{}, {}, retry_at};
  Answer answer = look(wish, not_on);
  if (answer.node.empty()) {
    stand_in_line(wish.request);
  } else {
    leave_line(wish.request.key);
    reserve_on(wish, answer.node);
  }
  return answer;
}

/// A node that has free capacity and whose own limit takes one more.
Reservations::Answer Reservations::find_node(const Wish& wish, const Takes& takes) {
  std::set<std::string> full;
  Answer answer;
  for (int i = 0; i < kTargetTries; ++i) {
    answer = look(wish, full);
    if (answer.node.empty() || takes(wish.request.key, answer.node)) return answer;
    full.insert(std::exchange(answer.node, {}));
  }
  answer.message = kTargetsFull;
  return answer;
}

std::optional<Reservations::Answer> Reservations::reserve_all(const std::vector<Wish>& wishes, const Takes& takes) {
  const std::scoped_lock lock(mutex_);
  std::vector<const Wish*> open;
  for (const Wish& each : wishes) {
    if (!held_by(each)) open.push_back(&each);
  }
  if (open.empty()) return std::nullopt;
  if (const auto retry_at = set_scene(open)) return Answer{{}, {}, retry_at};
  const auto size = [this](const Wish* each) {
    const auto& requests = scene_->cluster.requests(scene_->copies.at(each->request.key));
    return std::pair(scheduling::amount_of(requests, scheduling::kMemoryIndex),
                     scheduling::amount_of(requests, scheduling::kCpuIndex));
  };
  std::stable_sort(open.begin(), open.end(), [&](auto* a, auto* b) { return size(a) > size(b); });
  for (auto at = open.begin(); at != open.end(); ++at) {
    Answer answer = find_node(**at, takes);
    if (!answer.node.empty()) {
      reserve_on(**at, answer.node);
      continue;
    }
    for (auto before = open.begin(); before != at; ++before) {
      reservations_.erase((*before)->request.key);
      place((*before)->request.key, "");
    }
    stand_in_line((*at)->request);  // when it is woken the whole PodGroup asks again
    answer.message = fmt::format("pod {} {}", (*at)->copy.pod->meta.name, answer.message);
    return answer;
  }
  for (const Wish* each : open) leave_line(each->request.key);
  return std::nullopt;
}

void Reservations::drop(const api::ObjectKey& key, std::vector<api::ObjectKey>& awake) {
  pods_.erase(key);
  leave_line(key);
  if (reservations_.erase(key) == 0) return;
  place(key, "");
  for (const AdmissionOrder& each : line_) {
    if (awake.size() == kWakeAtOnce) break;
    awake.push_back(std::get<api::ObjectKey>(each));
  }
}

void Reservations::wake(const std::vector<api::ObjectKey>& keys) const {
  for (const api::ObjectKey& key : keys) {
    if (wake_) wake_(key, kSceneGap);  // the pod that left is to be seen gone
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
    const auto held = reservations_.find(key);
    if (!after || api::is_terminal(after->status.phase)) {
      drop(key, awake);
    } else if (has_capacity_reserved(*after)) {
      const std::string& node = after->status.target_node.value;
      if (held == reservations_.end()) {  // reserved by another leader
        pods_[key] = {after->spec.pod_ref.name, after->spec.pod_ref.uid.value};
        reservations_[key] = {node, after->status.attempt, std::nullopt, after->meta.creation_timestamp, true};
        scene_.reset();
      } else if (after->status.attempt >= held->second.attempt) {
        held->second.stored = true;
        if (std::exchange(held->second.node, node) != node) place(key, node);
      }
    } else if (held != reservations_.end() && held->second.stored && after->status.attempt >= held->second.attempt) {
      drop(key, awake);
    }
  }
  wake(awake);
}

std::size_t Reservations::held() const {
  const std::scoped_lock lock(mutex_);
  return reservations_.size();
}

Slot no_capacity(const Reservations::Answer& answer) {
  Slot slot;
  slot.state = Slot::State::kWaiting;
  slot.retry_at = answer.retry_at;
  if (answer.retry_at) return slot;  // nobody knows yet: nothing to tell
  slot.limit.emplace();
  slot.limit->kind = "Capacity";
  slot.limit->message = answer.message;
  return slot;
}

Admission ask_for_slot(AdmissionQueue& line, Reservations* capacity, const AdmissionRequest& request,
                       const SurgePod& copy) {
  Admission admission = line.request(request);
  if (!capacity || !copy.pod || admission.slot.state != Slot::State::kGranted) return admission;
  std::set<std::string> full;
  Reservations::Answer answer;
  for (int i = 0; i < kTargetTries; ++i) {
    answer = capacity->reserve({request, copy}, full);
    if (answer.node.empty()) break;
    if (line.expect_on(request.key, answer.node)) {
      admission.slot.reserved_node = answer.node;
      return admission;
    }
    capacity->release_unused(request.key);
    full.insert(answer.node);
    answer.message = kTargetsFull;
  }
  line.withdraw(request.key);
  admission.slot = no_capacity(answer);
  return admission;
}

}  // namespace controllers
