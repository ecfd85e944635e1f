#include "controllers/admission/reservations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/meta/condition.hpp"
#include "api/vocabulary/blockers.hpp"
#include "api/vocabulary/condition_types.hpp"
#include "api/vocabulary/reasons.hpp"
#include "planner/scheduling/predicates.hpp"

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

}  // namespace

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
    return what_if_ && std::ranges::all_of(wanted, [&](const PlacementRequest* each) {
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
  std::ranges::stable_sort(open, std::greater{}, size);
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

template <typename Change>
void Reservations::apply(Change&& change) {
  std::vector<api::ObjectKey> awake;
  {
    const std::scoped_lock lock(mutex_);
    change(awake);
  }
  for (const api::ObjectKey& key : awake) {
    if (wake_) wake_(key, kSnapshotGap);  // delayed until the snapshot shows the departed pod as gone
  }
}

void Reservations::release_unused(const api::ObjectKey& key) {
  apply([&](std::vector<api::ObjectKey>& awake) {
    const auto held = reservations_.find(key);
    if (held == reservations_.end() || !held->second.stored) drop(key, awake);
  });
}

void Reservations::abandon(const api::ObjectKey& key, const std::string& resource_version) {
  apply([&](std::vector<api::ObjectKey>& awake) {
    abandoned_[key] = resource_version;
    drop(key, awake);
  });
}

void Reservations::observe(const api::Evacuation* before, const api::Evacuation* after) {
  apply([&](std::vector<api::ObjectKey>& awake) {
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
  });
}

Slot no_capacity(const Reservations::Outcome& outcome) {
  Slot slot{Slot::State::kWaiting, {}, {}, outcome.retry_at};
  // Otherwise it is not known yet, and there is no blocker to report.
  if (!outcome.retry_at) slot.limit = api::make_blocker(api::BlockerKind::kCapacity, {}, outcome.message);
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
