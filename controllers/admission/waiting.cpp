/// Entries of the admission queue that wait, and their admission.

#include "controllers/admission/queue.hpp"

namespace controllers {
/// Waits alone. An entry that waits already keeps its place.
void AdmissionQueue::wait(Entry& entry, std::int32_t attempt, const AdmissionOrder& order) {
  leave_pod_group(entry);
  auto* waiting = std::get_if<Entry::Waiting>(&entry.turn);
  if (waiting && waiting->place.order == order) {
    waiting->attempt = attempt;
    return;
  }
  stop_waiting(entry);
  entry.turn = Entry::Waiting{attempt, {order, {}}};
  make_ready(order);
}

/// Restores the waiting state `before`, if any. Its scopes may have changed since.
void AdmissionQueue::wait_again(Entry& entry, Entry::Turn before) {
  if (entry.place()) return;
  entry.turn = std::move(before);
  Entry::Place* place = entry.place();
  if (!place) return;
  place->parked_at.clear();
  make_ready(place->order);
}

void AdmissionQueue::stop_waiting(Entry& entry) {
  const Entry::Place* place = entry.place();
  if (!place) return;
  if (place->parked_at.empty()) {
    ready_.erase(place->order, turn_);
  } else {
    scopes_.unpark(place->parked_at, place->order);
  }
  entry.lose_place();
}

void AdmissionQueue::park(Entry& entry, const std::string& scope_id, std::int64_t need) {
  Entry::Place& place = *entry.place();
  ready_.erase(place.order, turn_);
  scopes_.park(scope_id, place.order, need);
  place.parked_at = scope_id;
}

void AdmissionQueue::unpark_reopened(base::TimePoint now) {
  while (const auto next = scopes_.take_next(now)) {
    entries_.at(std::get<api::ObjectKey>(*next)).place()->parked_at.clear();
    make_ready(*next);
  }
}

void AdmissionQueue::admit_waiting(Wakeups& wakeups) {
  const base::TimePoint now = clock_.now();
  end_arrivals(now);
  for (unpark_reopened(now); !ready_.empty() && scopes_.cluster_has_capacity(now); unpark_reopened(now)) {
    const api::ObjectKey key = std::get<api::ObjectKey>(ready_.first(turn_)->order);
    Entry& entry = entries_.at(key);
    const bool has_workload = entry.counted >= Entry::Held::kWorkload;
    if (!claimant(key, entry).empty() || cooling(entry.request, now)) {
      // Its pod or workload was or will be evacuated by another one; the woken reconcile finds out.
      stop_asking(entry);
      wakeups.push_back({key, {}});
    } else if (entry.asks_with_pod_group()) {
      if (!admit_pod_group(entry, now, wakeups)) break;
    } else if (const std::string* full = scopes_.first_full(entry.scopes, now, entry.place()->order, has_workload)) {
      park(entry, *full);
    } else {
      admit(entry, now);
      wakeups.push_back({key, {}});
    }
    scopes_.reopen(entry.scopes);  // the scopes may have free capacity for the next entry
  }
  wake_at_tokens(now, wakeups);
}

/// REQUIRES: it waits, alone or with its PodGroup.
void AdmissionQueue::admit(Entry& entry, base::TimePoint now) {
  const std::int32_t attempt = entry.wanted_attempt();
  stop_waiting(entry);
  entry.turn = Entry::Reserved{attempt, true};
  scopes_.take_tokens(entry.request.policy, now);
  scopes_.take_turn(entry.request.key.ns);
  recount(entry);
}

/// Tokens arrive without an event, so the first waiting entry is woken then; its request admits the others.
void AdmissionQueue::wake_at_tokens(base::TimePoint now, Wakeups& wakeups) {
  if (const auto next = ready_.first(turn_)) {
    const api::ObjectKey& key = std::get<api::ObjectKey>(next->order);
    const Entry& first = entries_.at(key);
    const auto count = first.asks_with_pod_group() ? static_cast<std::int64_t>(pod_group_of(first).size()) : 1;
    const auto cluster = scopes_.next_cluster_token(now, count);
    if (cluster && scopes_.total_has_capacity(count)) {
      wakeups.push_back({key, *cluster - now});
    }
  }
  for (const auto& [key, at] : scopes_.next_in_rates(now)) {
    if (at > now) wakeups.push_back({key, at - now});
  }
}

/// Keeps a granted slot, or carries the slot of the last attempt over to the next one, which a policy that holds its
/// Evacuations forbids: between two attempts nothing acts on the pod. A request from a stale cache does not lower the
/// attempt.
void AdmissionQueue::keep_reserved(Entry& entry, std::int32_t attempt) {
  if (auto* reserved = std::get_if<Entry::Reserved>(&entry.turn)) {
    reserved->attempt = std::max(reserved->attempt, attempt);
  } else {
    stop_asking(entry);
    entry.turn = Entry::Reserved{attempt, false};
  }
  recount(entry);
}

void AdmissionQueue::give_back(Entry& entry, std::int32_t begun) {
  stop_asking(entry);
  scopes_.reopen(entry.scopes);
  const auto* reserved = std::get_if<Entry::Reserved>(&entry.turn);
  if (reserved && reserved->paid && reserved->attempt > begun) scopes_.give_tokens_back(entry.request.policy);
  entry.turn = Entry::Idle{};
  recount(entry);
}

Slot AdmissionQueue::slot_of(const Entry& entry) {
  if (entry.is_reserved()) return {Slot::State::kGranted, {}};
  if (entry.asks_with_pod_group()) return pod_group_slot(entry);
  const Entry::Place* place = entry.place();
  return {Slot::State::kWaiting, scopes_.blocker(place ? place->parked_at : std::string())};
}

}  // namespace controllers
