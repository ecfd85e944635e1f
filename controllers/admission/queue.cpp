#include "controllers/admission/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "api/origin.hpp"
#include "api/vocabulary/blockers.hpp"
#include "base/time/stored_time.hpp"

namespace controllers {
namespace {

using Part = AdmissionScopes::Part;

template <typename Index>
void drop_from(Index& index, const std::string& name, const api::ObjectKey& key) {
  const auto at = index.find(name);
  if (at == index.end()) return;
  at->second.erase(key);
  if (at->second.empty()) index.erase(at);
}

api::Blocker blocker_of(const CooldownLedger::Cooling& cooling) {
  return api::make_blocker(
      api::BlockerKind::kLimit, limit_name(api::LimitScope::kCooldown),
      fmt::format("{} was evacuated {} recently and is excluded (cooldown) until {}", cooling.subject,
                  cooling.count == 1 ? "once" : fmt::format("{} times", cooling.count),
                  base::format_time(cooling.until)));
}

/// Includes the namespace, because any client can write any UID into an Evacuation.
std::string pod_key(const std::string& ns, const std::string& uid) { return uid.empty() ? uid : ns + "/" + uid; }

bool is_held(const api::Evacuation& evacuation) {
  const bool waits = evacuation.spec.suspend && evacuation.status.phase == api::EvacuationPhase::kPending;
  return evacuation.spec.dry_run || waits;
}

/// Whether its pod is or may be being evicted; the latter if an answer is outstanding.
bool asked_to_leave(const api::Evacuation& evacuation) {
  const api::EvacuationStatus& status = evacuation.status;
  if (evacuation.spec.dry_run) return false;
  const bool may_be = status.phase == api::EvacuationPhase::kRequesting && status.intent && !status.intent->resolved;
  return may_be || status.phase == api::EvacuationPhase::kEvicting;
}

/// Retry delay when the request and the entry have different UIDs. One of both objects was deleted, which every cache
/// will show soon.
constexpr base::seconds kPollInterval{1};

AdmissionEntry::Held part_held_by(const api::Evacuation& evacuation) {
  if (holds_slot(evacuation)) return AdmissionEntry::Held::kSlot;
  if (holds_arrival_slot(evacuation)) return AdmissionEntry::Held::kArrival;
  return holds_workload_slot(evacuation) ? AdmissionEntry::Held::kWorkload : AdmissionEntry::Held::kNothing;
}

}  // namespace

AdmissionQueue::AdmissionQueue(api::AdmissionLimits cluster, const base::Clock& clock, Wake wake)
    : clock_(clock), wake_(std::move(wake)), scopes_(cluster), cooldowns_(cluster.cooldown), arrivals_(clock) {}

void AdmissionQueue::wake(const Wakeups& wakeups, const api::ObjectKey* except) const {
  for (const auto& [key, after] : wakeups) {
    if (wake_ && (!except || key != *except || after > base::Duration::zero())) wake_(key, after);
  }
}

template <typename Change>
void AdmissionQueue::apply(Change&& change) {
  Wakeups wakeups;
  {
    const std::scoped_lock lock(mutex_);
    change();
    admit_waiting(wakeups);
  }
  wake(wakeups);
}

template <typename Change>
void AdmissionQueue::apply_to(const api::ObjectKey& key, Change&& change) {
  apply([&] {
    if (const auto at = entries_.find(key); at != entries_.end()) change(at->second);
  });
}

void AdmissionQueue::resume() {
  apply([&] { scopes_.drain_rates(clock_.now()); });
}

void AdmissionQueue::set_cluster_limits(const api::AdmissionLimits& limits) {
  cooldowns_.set_cluster_limits(limits.cooldown);
  apply([&] { scopes_.set_cluster_limits(limits, clock_.now()); });
}

void AdmissionQueue::set_policy_limits(const std::string& policy, const std::optional<api::AdmissionLimits>& limits,
                                       const std::string& hold_reason) {
  cooldowns_.set_policy_limits(policy, limits ? std::optional(limits->cooldown) : std::nullopt);
  apply([&] { scopes_.set_policy_limits(policy, limits, hold_reason, clock_.now()); });
}

std::optional<CooldownLedger::Cooling> AdmissionQueue::cooling(const AdmissionRequest& request,
                                                               base::TimePoint now) const {
  if (request.policy.empty() || request.attempt > 1 || request.has_begun) return std::nullopt;
  return cooldowns_.cooling(request.subjects, request.policy, now);
}

void AdmissionQueue::set_node(const std::string& node, std::optional<NodeFacts> facts) {
  apply([&] {
    if (scopes_.set_node(node, std::move(facts))) rescope(node);
  });
}

/// Moves the entries of a node that changed its zone to the scopes of the new zone.
void AdmissionQueue::rescope(const std::string& node) {
  const auto at = by_node_.find(node);
  if (at == by_node_.end()) return;
  for (const api::ObjectKey& key : std::set(at->second)) {
    Entry& entry = entries_.at(key);
    Entry::Turn before = entry.turn;
    set_scopes(entry, AdmissionRequest(entry.request));
    recount(entry);
    wait_again(entry, std::move(before));
  }
}

AdmissionQueue::Entry& AdmissionQueue::entry_for(const api::ObjectKey& key, const std::string& uid,
                                                 const std::string& pod_uid, base::TimePoint created) {
  auto at = entries_.find(key);
  if (at != entries_.end() && !uid.empty() && !at->second.uid.empty() && at->second.uid != uid) {
    erase(key);  // deleted and re-created under the same name
    at = entries_.end();
  }
  Entry& entry = at == entries_.end() ? entries_[key] : at->second;
  if (!uid.empty()) entry.uid = uid;
  entry.created = created;
  if (entry.pod_uid != pod_uid) {
    drop_from(by_pod_, pod_key(key.ns, entry.pod_uid), key);
    entry.pod_uid = pod_uid;
    if (!pod_uid.empty()) by_pod_[pod_key(key.ns, pod_uid)].insert(key);
  }
  return entry;
}

void AdmissionQueue::set_scopes(Entry& entry, AdmissionRequest request) {
  AdmissionScopes::Ids ids = scopes_.attach(request);
  if (entry.request.node != request.node) {
    drop_from(by_node_, entry.request.node, request.key);
    if (!request.node.empty()) by_node_[request.node].insert(request.key);
  }
  entry.request = std::move(request);
  if (ids == entry.scopes) return scopes_.detach(ids);
  unpark_pod_group(entry);
  stop_waiting(entry);
  count_as(entry, Entry::Held::kNothing);
  scopes_.reopen(entry.scopes);
  scopes_.detach(entry.scopes);
  entry.scopes = std::move(ids);
}

void AdmissionQueue::end_arrivals(base::TimePoint now) {
  while (const auto ended = arrivals_.take_ended(now)) {
    Entry& entry = entries_.at(*ended);
    entry.arrival_ends.reset();
    if (entry.stored_part() > Entry::Held::kWorkload) entry.stored = Entry::Held::kWorkload;
    recount(entry);
  }
}

void AdmissionQueue::count_as(Entry& entry, Entry::Held held) {
  held = arrivals_.within_share(entry, held, scopes_.namespace_limit());
  const Entry::Held before = std::exchange(entry.counted, held);
  if (before == held) return;
  if (before == Entry::Held::kNothing) entry.counted_pod_group = entry.request.pod_group;
  const auto change = [&](Part part, Entry::Held includes) {
    const int by = static_cast<int>(held >= includes) - static_cast<int>(before >= includes);
    if (by != 0) scopes_.count(entry.scopes, part, by, entry.counted_pod_group);
  };
  change(Part::kDeparture, Entry::Held::kSlot);
  change(Part::kWorkload, Entry::Held::kWorkload);
  change(Part::kArrival, Entry::Held::kArrival);
  arrivals_.count(entry);
  if (held < before) scopes_.reopen(entry.scopes);
}

/// Makes the first waiting member of its PodGroup ready again if it is parked, because the scopes change.
void AdmissionQueue::unpark_pod_group(const Entry& entry) {
  if (!entry.asks_with_pod_group()) return;
  for (Entry* each : pod_group_of(entry)) {
    Entry::Place* place = each->place();
    if (!place || place->parked_at.empty()) continue;
    scopes_.unpark(std::exchange(place->parked_at, {}), place->order);
    make_ready(place->order);
  }
}

void AdmissionQueue::erase(const api::ObjectKey& key) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  Entry& entry = at->second;
  stop_asking(entry);
  count_as(entry, Entry::Held::kNothing);
  arrivals_.cancel_end(entry, key);
  drop_from(by_pod_, pod_key(key.ns, entry.pod_uid), key);
  drop_from(by_node_, entry.request.node, key);
  scopes_.detach(entry.scopes);
  entries_.erase(at);
}

void AdmissionQueue::show(const api::Evacuation& evacuation) {
  Entry& entry = entry_for(evacuation.meta.key(), evacuation.meta.uid, evacuation.spec.pod_ref.uid.value,
                           evacuation.meta.creation_timestamp);
  const auto* abandoned = std::get_if<Entry::Abandoned>(&entry.stored);
  if (!abandoned || abandoned->resource_version != evacuation.meta.resource_version)
    entry.stored = part_held_by(evacuation);
  entry.is_held = is_held(evacuation);
  entry.is_manual = !api::origin_is_verified(evacuation);
  arrivals_.schedule_end(entry, evacuation);
  entry.shown = true;
  entry.began = evacuation.status.phase != api::EvacuationPhase::kPending;
  const auto* reserved = std::get_if<Entry::Reserved>(&entry.turn);
  const bool shows_slot = evacuation.status.attempt >= (reserved ? reserved->attempt : 0) && entry.began;
  if (reserved && shows_slot && !goes_on_without_slot(evacuation)) entry.turn = Entry::Idle{};
  // A waiting or reserved entry keeps the scopes of its request, because the store may not know the workload yet.
  if (entry.is_idle() || entry.scopes.empty()) set_scopes(entry, admission_request(evacuation, nullptr, std::nullopt));
  recount(entry);
}

void AdmissionQueue::observe(const api::Evacuation* before, const api::Evacuation* after) {
  if (after) cooldowns_.note(*after);
  apply([&] {
    if (after && !api::is_terminal(after->status.phase)) return show(*after);
    if (!after && asked_to_leave(*before)) return keep_departing(*before);
    erase((after ? after : before)->meta.key());
  });
}

/// Keeps the slot for the terminating pod. Drops the claim on the pod, since no Evacuation acts on it any more.
void AdmissionQueue::keep_departing(const api::Evacuation& deleted) {
  const api::ObjectKey key = deleted.meta.key();
  const auto at = entries_.find(key);
  if (at == entries_.end() || at->second.uid != deleted.meta.uid || !at->second.holds_stored_slot()) return erase(key);
  Entry& entry = at->second;
  stop_asking(entry);
  entry.turn = Entry::Idle{};
  entry.shown = false;
  const base::TimePoint now = clock_.now();
  const bool is_leaving = deleted.status.phase == api::EvacuationPhase::kEvicting;
  const base::TimePoint since = is_leaving ? deleted.status.phase_entered_at.value_or(now) : now;
  entry.departing = Entry::Departing{deleted.spec.pod_ref.name, entry.pod_uid, now, base::clamp_to_now(since, now)};
  drop_from(by_pod_, pod_key(key.ns, entry.pod_uid), key);
  entry.pod_uid.clear();
  recount(entry);
}

std::optional<AdmissionEntry::Departing> AdmissionQueue::departing(const api::ObjectKey& key) const {
  const std::scoped_lock lock(mutex_);
  const auto at = entries_.find(key);
  return at == entries_.end() ? std::nullopt : at->second.departing;
}

void AdmissionQueue::stop_counting_departing(const api::ObjectKey& key) {
  apply_to(key, [&](Entry& entry) {
    if (!entry.departing) return;
    entry.stored = Entry::Held::kWorkload;
    recount(entry);
  });
}

Admission AdmissionQueue::request(const AdmissionRequest& request) {
  Admission result;
  Wakeups wakeups;
  {
    const std::scoped_lock lock(mutex_);
    result = request_locked(request, wakeups);
  }
  wake(wakeups, &request.key);
  return result;
}

Admission AdmissionQueue::request_locked(const AdmissionRequest& request, Wakeups& wakeups) {
  const auto known = entries_.find(request.key);
  const bool is_other = known != entries_.end() && known->second.shown && !request.uid.empty() &&
                        !known->second.uid.empty() && known->second.uid != request.uid;
  if (is_other) return {{Slot::State::kWaiting, {}, {}, clock_.now() + kPollInterval}, {}};
  Entry& entry = entry_for(request.key, request.uid, request.pod_uid, request.created);
  const std::int32_t attempt = std::max(request.attempt, 1);
  if (std::string other = claimant(request.key, entry); !other.empty()) {
    stop_asking(entry);
    if (request.has_begun) return {{Slot::State::kWaiting, {}, {}, clock_.now() + kPollInterval}, {}};
    return {{}, std::move(other)};
  }
  if (entry.has_slot() && !(entry.ends_before(attempt) && scopes_.is_held(request.policy))) {
    keep_reserved(entry, attempt);
    return {{Slot::State::kGranted, {}}, {}};
  }
  if (auto refused = refuse_too_large(entry, request)) return {*std::move(refused), {}};
  set_scopes(entry, request);
  recount(entry);
  if (const auto cooling = this->cooling(request, clock_.now())) {
    stop_asking(entry);
    return {{Slot::State::kWaiting, blocker_of(*cooling), {}, cooling->until}, {}};
  }
  if (request.pod_group.empty()) {
    wait(entry, attempt, admission_order(request));
  } else {
    wait_with_pod_group(entry, attempt);
  }
  if (const Entry::Place* place = entry.place(); place && !place->parked_at.empty()) scopes_.reopen(place->parked_at);
  admit_waiting(wakeups);
  return {slot_of(entry), claimant(request.key, entry)};
}

bool AdmissionQueue::set_target_node(const api::ObjectKey& key, const std::string& node) {
  bool has_capacity = true;
  apply_to(key, [&](Entry& entry) {
    if (entry.request.target_node == node) return;
    AdmissionRequest request = entry.request;
    request.target_node = node;
    has_capacity = scopes_.target_has_capacity(request);
    if (!has_capacity) return;
    set_scopes(entry, std::move(request));
    recount(entry);
  });
  return has_capacity;
}

void AdmissionQueue::withdraw(const api::ObjectKey& key, std::int32_t begun) {
  apply_to(key, [&](Entry& entry) {
    if (!entry.is_idle()) give_back(entry, begun);
  });
}

void AdmissionQueue::withdraw_later_attempts(const api::ObjectKey& key, std::int32_t begun) {
  apply_to(key, [&](Entry& entry) {
    if (!entry.is_idle() && entry.asked_attempt() > begun) give_back(entry, begun);
  });
}

void AdmissionQueue::forget(const api::ObjectKey& key) {
  apply_to(key, [&](Entry& entry) {
    if (!entry.shown) erase(key);
  });
}

bool AdmissionQueue::is_waited_for(const api::ObjectKey& key, bool with_workload) const {
  const std::scoped_lock lock(mutex_);
  const auto at = entries_.find(key);
  if (at == entries_.end() || at->second.counted != Entry::Held::kSlot) return false;
  return (!ready_.empty() && scopes_.total_is_full()) || scopes_.is_waited_for(at->second.scopes, with_workload);
}

void AdmissionQueue::abandon(const api::ObjectKey& key, const std::string& resource_version) {
  apply_to(key, [&](Entry& entry) {
    entry.stored = Entry::Abandoned{resource_version};
    give_back(entry, 0);
  });
}

std::string AdmissionQueue::claimant(const api::ObjectKey& key, const Entry& entry) const {
  const auto of_same_pod = by_pod_.find(pod_key(key.ns, entry.pod_uid));
  if (entry.pod_uid.empty() || of_same_pod == by_pod_.end()) return {};
  // Order: begun (or about to begin), then older, then by name; held ones last.
  const auto rank = [](const api::ObjectKey& of, const Entry& each) {
    return std::tuple(each.is_held, !each.began, !each.is_reserved(), each.created, of.name);
  };
  for (const api::ObjectKey& other : of_same_pod->second) {
    if (other == key) continue;
    if (rank(other, entries_.at(other)) < rank(key, entry)) return other.name;
  }
  return {};
}

std::string AdmissionQueue::duplicate_of(const api::Evacuation& evacuation) const {
  const std::scoped_lock lock(mutex_);
  const api::ObjectKey key = evacuation.meta.key();
  const auto known = entries_.find(key);
  if (known != entries_.end()) return claimant(key, known->second);
  Entry entry;
  entry.pod_uid = evacuation.spec.pod_ref.uid.value;
  entry.created = evacuation.meta.creation_timestamp;
  entry.is_held = is_held(evacuation);
  return claimant(key, entry);
}

AdmissionQueue::Usage AdmissionQueue::usage() const {
  const std::scoped_lock lock(mutex_);
  Usage usage;
  usage.in_flight = scopes_.total_used();
  usage.waiting = scopes_.parked() + static_cast<std::int64_t>(ready_.size());
  usage.limit = scopes_.total_limit();
  usage.scopes = scopes_.fullness();
  // Entries blocked by the cluster's total or rate are not parked at a scope.
  usage.scopes[scopes_.total_has_capacity() ? "rate" : "total"].waiting += static_cast<std::int64_t>(ready_.size());
  if (auto& total = usage.scopes["total"]; usage.limit && *usage.limit > 0)
    total.fullest = std::max(total.fullest, static_cast<double>(usage.in_flight) / static_cast<double>(*usage.limit));
  return usage;
}

}  // namespace controllers
