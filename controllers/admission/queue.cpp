#include "controllers/admission/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

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
  api::Blocker blocker;
  blocker.kind = "Limit";
  blocker.name = "cooldown";
  blocker.message = fmt::format("{} was evacuated {} lately and is excluded (cooling down) until {}", cooling.subject,
                                cooling.count == 1 ? "once" : fmt::format("{} times", cooling.count),
                                base::format_time(cooling.until));
  return blocker;
}

}  // namespace

AdmissionQueue::AdmissionQueue(api::AdmissionLimits cluster, const base::Clock& clock, Wake wake)
    : clock_(clock), wake_(std::move(wake)), scopes_(cluster), cooldowns_(cluster.cooldown) {}

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
    pump(wakeups);
  }
  wake(wakeups);
}

void AdmissionQueue::resume() {
  apply([&] { scopes_.drain_rates(clock_.now()); });
}

void AdmissionQueue::set_cluster_limits(const api::AdmissionLimits& limits) {
  cooldowns_.set_cluster_limits(limits.cooldown);
  apply([&] { scopes_.set_cluster_limits(limits, clock_.now()); });
}

void AdmissionQueue::set_policy_limits(const std::string& policy, const std::optional<api::AdmissionLimits>& limits) {
  cooldowns_.set_policy_limits(policy, limits ? std::optional(limits->cooldown) : std::nullopt);
  apply([&] { scopes_.set_policy_limits(policy, limits, clock_.now()); });
}

void AdmissionQueue::restore_cooldowns(const std::string& policy, const std::vector<api::CooldownRecord>& records) {
  if (!records.empty()) cooldowns_.restore(policy, records);
}

std::optional<CooldownLedger::Cooling> AdmissionQueue::cooling(const AdmissionRequest& request,
                                                               base::TimePoint now) const {
  if (request.policy.empty() || request.attempt > 1) return std::nullopt;
  return cooldowns_.cooling(request.subjects, request.policy, now);
}

void AdmissionQueue::set_node(const std::string& node, std::optional<NodeFacts> facts) {
  apply([&] {
    if (scopes_.set_node(node, std::move(facts))) rescope(node);
  });
}

/// The node is in another zone than before: what leaves it counts there.
void AdmissionQueue::rescope(const std::string& node) {
  const auto at = by_node_.find(node);
  if (at == by_node_.end()) return;
  for (const api::ObjectKey& key : std::set(at->second)) {
    Entry& entry = entries_.at(key);
    const auto order = entry.waiting;
    set_scopes(entry, AdmissionRequest(entry.request));
    recount(entry);
    if (order) line_up(entry, *order);
  }
}

AdmissionQueue::Entry& AdmissionQueue::entry_for(const api::ObjectKey& key, const std::string& uid,
                                                 const std::string& pod_uid, base::TimePoint created) {
  auto at = entries_.find(key);
  if (at != entries_.end() && !uid.empty() && !at->second.uid.empty() && at->second.uid != uid) {
    erase(key);  // deleted and made again under the same name
    at = entries_.end();
  }
  Entry& entry = at == entries_.end() ? entries_[key] : at->second;
  if (!uid.empty()) entry.uid = uid;
  entry.created = created;
  if (entry.pod_uid != pod_uid) {
    drop_from(by_pod_, entry.pod_uid, key);
    entry.pod_uid = pod_uid;
    if (!pod_uid.empty()) by_pod_[pod_uid].insert(key);
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
  leave_line(entry);
  if (entry.counted_slot) scopes_.count(entry.scopes, Part::kDeparture, -1, entry.counted_pod_group);
  if (entry.counted_arrival) scopes_.count(entry.scopes, Part::kArrival, -1, entry.counted_pod_group);
  entry.counted_slot = entry.counted_arrival = false;
  scopes_.reopen(entry.scopes);
  scopes_.detach(entry.scopes);
  entry.scopes = std::move(ids);
}

void AdmissionQueue::recount(Entry& entry) {
  const bool slot = entry.holds_slot || entry.reserved > 0;
  const bool arrival = slot || entry.holds_arrival;
  const bool frees = (entry.counted_slot && !slot) || (entry.counted_arrival && !arrival);
  if (!entry.counted_slot && !entry.counted_arrival) entry.counted_pod_group = entry.request.pod_group;
  if (slot != entry.counted_slot) scopes_.count(entry.scopes, Part::kDeparture, slot ? 1 : -1, entry.counted_pod_group);
  if (arrival != entry.counted_arrival)
    scopes_.count(entry.scopes, Part::kArrival, arrival ? 1 : -1, entry.counted_pod_group);
  entry.counted_slot = slot;
  entry.counted_arrival = arrival;
  if (frees) scopes_.reopen(entry.scopes);
}

void AdmissionQueue::leave_line(Entry& entry) {
  if (!entry.waiting) return;
  if (entry.parked_at.empty()) {
    ready_.erase(*entry.waiting);
  } else {
    scopes_.unpark(entry.parked_at, *entry.waiting);
  }
  entry.waiting.reset();
  entry.parked_at.clear();
}

void AdmissionQueue::line_up(Entry& entry, const AdmissionOrder& order) {
  if (entry.waiting && *entry.waiting == order) return;
  leave_line(entry);
  entry.waiting = order;
  ready_.insert(order);
}

void AdmissionQueue::park(Entry& entry, const std::string& scope_id, std::int64_t need) {
  ready_.erase(*entry.waiting);
  scopes_.park(scope_id, *entry.waiting, need);
  entry.parked_at = scope_id;
}

void AdmissionQueue::pull_from_opened(base::TimePoint now) {
  while (const auto next = scopes_.take_next(now)) {
    entries_.at(std::get<api::ObjectKey>(*next)).parked_at.clear();
    ready_.insert(*next);
  }
}

void AdmissionQueue::admit(Entry& entry, base::TimePoint now) {
  leave_line(entry);
  entry.reserved = entry.wanted;
  entry.paid = true;
  scopes_.take_tokens(entry.request.policy, now);
  recount(entry);
}

void AdmissionQueue::pump(Wakeups& wakeups) {
  const base::TimePoint now = clock_.now();
  for (pull_from_opened(now); !ready_.empty() && scopes_.cluster_has_capacity(now); pull_from_opened(now)) {
    const api::ObjectKey key = std::get<api::ObjectKey>(*ready_.begin());
    Entry& entry = entries_.at(key);
    if (!claimant(key, entry).empty() || cooling(entry.request, now)) {
      stop_asking(entry);  // its pod or workload was evacuated meanwhile, or will be: let it find out
      leave_line(entry);
      wakeups.push_back({key, {}});
    } else if (entry.asks) {
      if (!admit_pod_group(entry, now, wakeups)) break;
    } else if (const std::string* full = scopes_.first_full(entry.scopes, now, *entry.waiting)) {
      park(entry, *full);
    } else {
      admit(entry, now);
      wakeups.push_back({key, {}});
    }
    scopes_.reopen(entry.scopes);  // they may have free capacity for the next in line
  }
  wake_at_tokens(now, wakeups);
}

/// Tokens come by themselves: whoever is first in line asks again then, and lets the others in.
void AdmissionQueue::wake_at_tokens(base::TimePoint now, Wakeups& wakeups) {
  if (!ready_.empty()) {
    const Entry& first = entries_.at(std::get<api::ObjectKey>(*ready_.begin()));
    const auto count = first.asks ? static_cast<std::int64_t>(pod_group_of(first).size()) : 1;
    const auto cluster = scopes_.next_cluster_token(now, count);
    if (cluster && scopes_.total_has_capacity(count)) {
      wakeups.push_back({std::get<api::ObjectKey>(*ready_.begin()), *cluster - now});
    }
  }
  for (const auto& [key, at] : scopes_.next_in_rates(now)) {
    if (at > now) wakeups.push_back({key, at - now});
  }
}

void AdmissionQueue::erase(const api::ObjectKey& key) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  Entry& entry = at->second;
  stop_asking(entry);
  leave_line(entry);
  entry.holds_slot = entry.holds_arrival = false;
  entry.reserved = 0;
  recount(entry);
  drop_from(by_pod_, entry.pod_uid, key);
  drop_from(by_node_, entry.request.node, key);
  scopes_.detach(entry.scopes);
  entries_.erase(at);
}

void AdmissionQueue::show(const api::Evacuation& evacuation) {
  Entry& entry = entry_for(evacuation.meta.key(), evacuation.meta.uid, evacuation.spec.pod_ref.uid.value,
                           evacuation.meta.creation_timestamp);
  if (entry.abandoned != evacuation.meta.resource_version) entry.abandoned.clear();
  entry.holds_slot = entry.abandoned.empty() && holds_slot(evacuation);
  entry.holds_arrival = entry.abandoned.empty() && holds_arrival_slot(evacuation);
  entry.began = evacuation.status.phase != api::EvacuationPhase::kPending;
  if (entry.began && evacuation.status.attempt >= entry.reserved) {
    entry.reserved = 0;
    entry.paid = false;
  }
  // While it waits or is reserved its scopes are those it asked with: the store may not know the workload yet.
  const bool asked = entry.reserved > 0 || entry.waiting || entry.asks;
  if (!asked || entry.scopes.empty()) set_scopes(entry, admission_request(evacuation, nullptr, std::nullopt));
  recount(entry);
}

void AdmissionQueue::observe(const api::Evacuation* before, const api::Evacuation* after) {
  if (after) cooldowns_.note(*after);
  apply([&] {
    if (after && !api::is_terminal(after->status.phase)) return show(*after);
    erase((after ? after : before)->meta.key());
  });
}

Admission AdmissionQueue::request(const AdmissionRequest& request) {
  Admission result;
  Wakeups wakeups;
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entry_for(request.key, "", request.pod_uid, request.created);
    entry.wanted = std::max(request.attempt, 1);
    result.duplicate_of = claimant(request.key, entry);
    if (!result.duplicate_of.empty()) {
      stop_asking(entry);
      leave_line(entry);
      return result;
    }
    if (entry.reserved > 0 || entry.holds_slot) {  // granted before, or its slot goes on into the next attempt
      entry.reserved = std::max(entry.reserved, entry.wanted);  // who asks by a stale cache takes nothing back
      recount(entry);
      result.slot.state = Slot::State::kGranted;
      return result;
    }
    set_scopes(entry, request);
    recount(entry);
    entry.no_capacity.reset();
    if (const auto cooling = this->cooling(request, clock_.now())) {
      stop_asking(entry);
      leave_line(entry);
      result.slot.state = Slot::State::kWaiting;
      result.slot.limit = blocker_of(*cooling);
      result.slot.retry_at = cooling->until;
      return result;
    }
    if (request.pod_group.empty()) {
      stop_asking(entry);
      line_up(entry, admission_order(request));
    } else {
      ask_with_pod_group(entry);
    }
    if (!entry.parked_at.empty()) scopes_.reopen(entry.parked_at);
    pump(wakeups);
    result.duplicate_of = claimant(request.key, entry);
    if (entry.reserved > 0) {
      result.slot.state = Slot::State::kGranted;
    } else if (entry.asks) {
      result.slot = pod_group_slot(entry);
    } else {
      result.slot = {Slot::State::kWaiting, scopes_.blocker(entry.parked_at)};
    }
  }
  wake(wakeups, &request.key);
  return result;
}

bool AdmissionQueue::expect_on(const api::ObjectKey& key, const std::string& node) {
  bool has_capacity = true;
  apply([&] {
    const auto at = entries_.find(key);
    if (at == entries_.end() || at->second.request.target_node == node) return;
    Entry& entry = at->second;
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
  apply([&] {
    const auto at = entries_.find(key);
    if (at == entries_.end()) return;
    if (!at->second.waiting && !at->second.asks && at->second.reserved == 0) return;
    give_back(at->second, begun);
  });
}

void AdmissionQueue::give_back(Entry& entry, std::int32_t begun) {
  stop_asking(entry);
  leave_line(entry);
  scopes_.reopen(entry.scopes);
  const bool unused = entry.reserved > begun;
  if (std::exchange(entry.paid, false) && unused) scopes_.give_tokens_back(entry.request.policy);
  entry.reserved = 0;
  recount(entry);
}

void AdmissionQueue::abandon(const api::ObjectKey& key, const std::string& resource_version) {
  apply([&] {
    const auto at = entries_.find(key);
    if (at == entries_.end()) return;
    at->second.abandoned = resource_version;
    at->second.holds_slot = at->second.holds_arrival = false;
    give_back(at->second, 0);
  });
}

std::string AdmissionQueue::claimant(const api::ObjectKey& key, const Entry& entry) const {
  const auto competing_nodes = by_pod_.find(entry.pod_uid);
  if (entry.pod_uid.empty() || competing_nodes == by_pod_.end()) return {};
  // Who has begun (or may begin any moment) comes first, then the older one, then by name.
  const auto rank = [](const api::ObjectKey& of, const Entry& each) {
    return std::tuple(!each.began, each.reserved == 0, each.created, of.name);
  };
  for (const api::ObjectKey& competing_node : competing_nodes->second) {
    if (competing_node == key || competing_node.ns != key.ns) continue;
    if (rank(competing_node, entries_.at(competing_node)) < rank(key, entry)) return competing_node.name;
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
  return claimant(key, entry);
}

AdmissionQueue::Usage AdmissionQueue::usage() const {
  const std::scoped_lock lock(mutex_);
  Usage usage;
  usage.in_flight = scopes_.total_used();
  usage.waiting = scopes_.parked() + static_cast<std::int64_t>(ready_.size());
  usage.limit = scopes_.total_limit();
  return usage;
}

}  // namespace controllers
