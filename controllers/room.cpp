#include "controllers/room.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "api/condition.hpp"
#include "scheduling/predicates.hpp"

namespace controllers {
namespace {

using scheduling::NodeIndex;
using scheduling::PodIndex;

/// A snapshot is good for this long; what is promised meanwhile is in the overlay.
constexpr base::seconds kSceneAge{10};
constexpr base::seconds kSceneGap{1};
/// So many of those that wait for room look again when some is given back.
constexpr std::size_t kWakeAtOnce = 8;
/// Nodes whose target-node limit is full are passed over this many times.
constexpr int kTargetTries = 8;

std::string copy_name(const api::ObjectKey& key) { return "room-for/" + key.to_string(); }  // no pod is named so

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

bool has_room_reserved(const api::Evacuation& evacuation) {
  const auto* slot = api::find_condition(evacuation.status.conditions, "SlotAcquired");
  return slot && slot->reason == kRoomReserved && holds_arrival_slot(evacuation) &&
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

struct RoomKeeper::Scene {
  explicit Scene(scheduling::SnapshotInput input, base::TimePoint now)
      : taken(now), cluster(std::move(input)), overlay(cluster) {}

  const base::TimePoint taken;
  const scheduling::ClusterSnapshot cluster;
  scheduling::Overlay overlay;
  std::map<api::ObjectKey, PodIndex> copies;
};

RoomKeeper::RoomKeeper(Snapshot snapshot, const base::Clock& clock, Wake wake)
    : snapshot_(std::move(snapshot)), clock_(clock), wake_(std::move(wake)) {}
RoomKeeper::~RoomKeeper() = default;

namespace {

/// Copies that exist by now: pods of the same controller, younger than the promise and bound to a node. Each stands for
/// one promise only.
class RealCopies {
 public:
  /// Looks at pods of these controllers (UIDs).
  RealCopies(const scheduling::SnapshotInput& input, const std::set<std::string>& owners) {
    for (const auto& pod : input.pods) {
      const api::OwnerReference* owner =
          pod && !pod->node_name.empty() && !pod->is_terminal() ? pod->meta.controller() : nullptr;
      if (owner && owners.contains(owner->uid)) by_owner_[owner->uid].push_back(pod.get());
    }
  }

  bool take_one_for(const api::Pod& pod, base::TimePoint since) {
    const api::OwnerReference* owner = pod.meta.controller();
    const auto candidates = owner ? by_owner_.find(owner->uid) : by_owner_.end();
    if (candidates == by_owner_.end()) return false;
    return std::erase_if(candidates->second, [&, taken = false](const api::Pod* each) mutable {
             const bool old = each->meta.creation_timestamp < std::chrono::floor<base::seconds>(since);
             if (taken || old || each->meta.uid == pod.meta.uid) return false;
             return taken = true;
           }) > 0;
  }

 private:
  std::map<std::string, std::vector<const api::Pod*>> by_owner_;
};

}  // namespace

/// Everybody who waits for room or was promised some gets a copy in the snapshot; promised ones are put where they were
/// promised, unless the real copy is there already.
void RoomKeeper::take_scene(base::TimePoint now) {
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
    if (!original) continue;  // gone: its room on the source is free, and its copy is real
    const auto promise = promises_.find(key);
    if (promise != promises_.end() && copies.take_one_for(*original, promise->second.since)) real.insert(key);
    imagined.push_back(copy_of(*original, key, now));
  }
  input.pods.insert(input.pods.end(), imagined.begin(), imagined.end());
  scene_ = std::make_unique<Scene>(std::move(input), now);
  for (const auto& [key, pod] : pods_) {
    if (const auto index = scene_->cluster.find_pod(key.ns, copy_name(key))) scene_->copies[key] = *index;
  }
  for (const auto& [key, promise] : promises_) {
    if (!real.contains(key)) place(key, promise.node);
  }
}

/// Puts the copy on the node; "" takes it off.
void RoomKeeper::place(const api::ObjectKey& key, const std::string& node) {
  if (!scene_) return;
  const auto copy = scene_->copies.find(key);
  if (copy == scene_->copies.end()) return;
  scene_->overlay.move(copy->second, scene_->cluster.find_node(node).value_or(scheduling::kNoNode));
}

RoomKeeper::Answer RoomKeeper::look(const Wish& wish, const std::set<std::string>& not_on) {
  const scheduling::Overlay& overlay = scene_->overlay;
  const PodIndex copy = scene_->copies.at(wish.request.key);
  const scheduling::FitQuery query(overlay, copy, scheduling::FitLevel::kScheduler);
  std::map<std::string_view, int> refusals;
  std::optional<std::pair<std::int64_t, NodeIndex>> best;
  for (const NodeIndex node : scene_->cluster.nodes()) {
    const std::string& name = scene_->cluster.node(node).meta.name;
    if (name == wish.pod->node_name.value) continue;
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
  return {
      {},
      fmt::format("needs {} for a second copy, and none of {} other nodes has it{}{}", amounts(scene_->cluster, copy),
                  scene_->cluster.node_count() - 1, reasons.empty() ? "" : ": ", reasons),
      {}};
}

RoomKeeper::Answer RoomKeeper::reserve(const Wish& wish, const std::set<std::string>& not_on) {
  const std::scoped_lock lock(mutex_);
  const api::ObjectKey& key = wish.request.key;
  const base::TimePoint now = clock_.now();
  if (const auto held = promises_.find(key); held != promises_.end()) {
    if (std::exchange(held->second.attempt, wish.request.attempt) != wish.request.attempt) held->second.stored = false;
    return {held->second.node, {}, {}};
  }
  pods_[key] = {wish.pod->meta.name, wish.pod->meta.uid};
  const bool known = scene_ && scene_->copies.contains(key);
  if (scene_ && !known && now < scene_->taken + kSceneGap && now >= scene_->taken) {
    return {{}, {}, scene_->taken + kSceneGap};
  }
  if (!known || now >= scene_->taken + kSceneAge || now < scene_->taken) take_scene(now);
  if (!scene_->copies.contains(key)) return {{}, {}, now + kSceneGap};  // the cache does not show the pod
  Answer answer = look(wish, not_on);
  if (!answer.node.empty()) {
    promises_[key] = {answer.node, wish.request.attempt, now, false};
    place(key, answer.node);
  }
  if (const auto waits = waiting_.find(key); waits != waiting_.end()) {
    line_.erase(waits->second);
    waiting_.erase(waits);
  }
  if (answer.node.empty()) {
    const AdmissionOrder order = admission_order(wish.request);
    waiting_[key] = order;
    line_.insert(order);
  }
  return answer;
}

void RoomKeeper::drop(const api::ObjectKey& key, std::vector<api::ObjectKey>& awake) {
  pods_.erase(key);
  if (const auto waits = waiting_.find(key); waits != waiting_.end()) {
    line_.erase(waits->second);
    waiting_.erase(waits);
  }
  if (promises_.erase(key) == 0) return;
  place(key, "");
  for (const AdmissionOrder& each : line_) {
    if (awake.size() == kWakeAtOnce) break;
    awake.push_back(std::get<api::ObjectKey>(each));
  }
}

void RoomKeeper::wake(const std::vector<api::ObjectKey>& keys) const {
  for (const api::ObjectKey& key : keys) {
    if (wake_) wake_(key, kSceneGap);  // the pod that left is to be seen gone
  }
}

void RoomKeeper::release_unused(const api::ObjectKey& key) {
  std::vector<api::ObjectKey> awake;
  {
    const std::scoped_lock lock(mutex_);
    const auto held = promises_.find(key);
    if (held != promises_.end() && held->second.stored) return;
    drop(key, awake);
  }
  wake(awake);
}

void RoomKeeper::observe(const api::Evacuation* before, const api::Evacuation* after) {
  std::vector<api::ObjectKey> awake;
  {
    const std::scoped_lock lock(mutex_);
    const api::ObjectKey key = (after ? after : before)->meta.key();
    const auto held = promises_.find(key);
    if (!after || api::is_terminal(after->status.phase)) {
      drop(key, awake);
    } else if (has_room_reserved(*after)) {
      const std::string& node = after->status.target_node.value;
      if (held == promises_.end()) {  // promised by another leader
        pods_[key] = {after->spec.pod_ref.name, after->spec.pod_ref.uid.value};
        promises_[key] = {node, after->status.attempt, after->status.attempt_started_at.value_or(clock_.now()), true};
        scene_.reset();
      } else if (after->status.attempt >= held->second.attempt) {
        held->second.stored = true;
        if (std::exchange(held->second.node, node) != node) place(key, node);
      }
    } else if (held != promises_.end() && held->second.stored && after->status.attempt >= held->second.attempt) {
      drop(key, awake);
    }
  }
  wake(awake);
}

std::size_t RoomKeeper::held() const {
  const std::scoped_lock lock(mutex_);
  return promises_.size();
}

namespace {

Slot no_room(const RoomKeeper::Answer& answer) {
  Slot slot;
  slot.state = Slot::State::kWaiting;
  slot.retry_at = answer.retry_at;
  if (answer.retry_at) return slot;  // nobody knows yet: nothing to tell
  slot.limit.emplace();
  slot.limit->kind = "Room";
  slot.limit->message = answer.message;
  return slot;
}

}  // namespace

Admission ask_for_slot(AdmissionQueue& line, RoomKeeper* room, const AdmissionRequest& request,
                       const std::shared_ptr<const api::Pod>& pod) {
  Admission admission = line.request(request);
  if (!room || !pod || admission.slot.state != Slot::State::kGranted) return admission;
  std::set<std::string> full;
  RoomKeeper::Answer answer;
  for (int i = 0; i < kTargetTries; ++i) {
    answer = room->reserve({request, pod}, full);
    if (answer.node.empty()) break;
    if (line.expect_on(request.key, answer.node)) {
      admission.slot.room_on = answer.node;
      return admission;
    }
    room->release_unused(request.key);
    full.insert(answer.node);
    answer.message = "the target node's limit is full on every node that has room";
  }
  line.withdraw(request.key);
  admission.slot = no_room(answer);
  return admission;
}

}  // namespace controllers
