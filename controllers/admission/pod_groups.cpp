#include <fmt/format.h>

#include <algorithm>

#include "controllers/admission/queue.hpp"
#include "controllers/admission/reservations.hpp"

/// The part of the line that is about PodGroups: pods that begin together or not at all.
namespace controllers {

std::vector<AdmissionQueue::Entry*> AdmissionQueue::pod_group_of(const Entry& entry) {
  std::vector<Entry*> pod_group;
  std::set<api::ObjectKey> seen{entry.request.key};
  std::vector<api::ObjectKey> open{entry.request.key};
  while (!open.empty()) {
    const auto at = entries_.find(open.back());
    open.pop_back();
    if (at == entries_.end()) return {};
    Entry& member = at->second;
    if (member.reserved > 0 || member.holds_slot) continue;
    if (!member.asks) return {};
    pod_group.push_back(&member);
    for (const api::ObjectKey& each : member.request.together) {
      if (seen.insert(each).second) open.push_back(each);
    }
  }
  return pod_group;
}

/// Whoever asks last finds the PodGroup complete; the first of them in the order of the line stands there for all.
void AdmissionQueue::ask_with_pod_group(Entry& entry) {
  entry.asks = true;
  if (entry.waiting) scopes_.reopen(entry.scopes);  // it may not be the first any more
  leave_line(entry);
  const std::vector<Entry*> pod_group = pod_group_of(entry);
  if (pod_group.empty() || scopes_.too_small(needs_of(pod_group), static_cast<std::int64_t>(pod_group.size()))) return;
  const auto order = [](const Entry* each) { return admission_order(each->request); };
  Entry* first =
      *std::min_element(pod_group.begin(), pod_group.end(), [&](auto* a, auto* b) { return order(a) < order(b); });
  for (Entry* each : pod_group) {
    if (each != first) leave_line(*each);
  }
  line_up(*first, order(first));
}

void AdmissionQueue::stop_asking(Entry& entry) {
  if (!entry.asks) return;
  for (Entry* each : pod_group_of(entry)) {
    if (each->waiting) scopes_.reopen(each->scopes);  // what was saved up for them is free for others
    leave_line(*each);
  }
  entry.asks = false;
}

AdmissionScopes::Needs AdmissionQueue::needs_of(const std::vector<Entry*>& pod_group) const {
  std::vector<const AdmissionScopes::Ids*> ids;
  for (const Entry* each : pod_group) ids.push_back(&each->scopes);
  return scopes_.needs_of(ids, pod_group.front()->request.pod_group);
}

api::Blocker AdmissionQueue::pod_group_blocker(const Entry& entry) {
  const std::vector<Entry*> pod_group = pod_group_of(entry);
  api::Blocker blocker;
  blocker.kind = "Group";
  blocker.name = entry.request.pod_group;
  if (pod_group.empty()) {
    blocker.message = "waits until all of its group ask for a slot";
    return blocker;
  }
  const auto needs = needs_of(pod_group);
  if (const auto limit = scopes_.too_small(needs, static_cast<std::int64_t>(pod_group.size()))) {
    const auto need = needs.find(*limit);
    blocker.message =
        fmt::format("{} pods of the group leave at the same time, which no free slot will ever allow: {}",
                    need == needs.end() ? pod_group.size() : need->second, scopes_.blocker(*limit).message);
    return blocker;
  }
  const auto first =
      std::find_if(pod_group.begin(), pod_group.end(), [](const Entry* each) { return each->waiting.has_value(); });
  blocker = scopes_.blocker(first == pod_group.end() ? std::string() : (*first)->parked_at);
  if (pod_group.size() > 1) blocker.message += fmt::format("; its group needs {} slots at once", pod_group.size());
  return blocker;
}

Slot AdmissionQueue::pod_group_slot(const Entry& entry) {
  const std::vector<Entry*> pod_group = pod_group_of(entry);
  const bool in_line =
      std::any_of(pod_group.begin(), pod_group.end(), [](const Entry* each) { return each->waiting.has_value(); });
  if (!pod_group.empty() && !in_line && entry.no_capacity) return *entry.no_capacity;
  return {Slot::State::kWaiting, pod_group_blocker(entry)};
}

bool AdmissionQueue::find_capacity(const std::vector<Entry*>& pod_group, base::TimePoint now, Wakeups& wakeups) {
  std::vector<Reservations::Wish> wishes;
  for (const Entry* each : pod_group) {
    if (const auto& copy = each->request.surge_pod) wishes.push_back({each->request, *copy});
  }
  if (!capacity_ || wishes.empty()) return true;
  std::vector<std::pair<Entry*, AdmissionRequest>> moved;  // as they were before
  const auto takes = [&](const api::ObjectKey& key, const std::string& node) {
    Entry& entry = entries_.at(key);
    AdmissionRequest there = entry.request;
    there.target_node = node;
    if (!scopes_.target_has_capacity(there)) return false;
    moved.emplace_back(&entry, entry.request);
    set_scopes(entry, std::move(there));
    entry.reserved = entry.wanted;  // the next one finds it there
    recount(entry);
    return true;
  };
  const auto refusal = capacity_->reserve_all(wishes, takes);
  if (!refusal) return true;
  for (auto& [entry, before] : moved) {
    entry->reserved = 0;
    recount(*entry);
    set_scopes(*entry, std::move(before));
  }
  Slot waits = no_capacity(*refusal);
  if (waits.limit) waits.limit->message = fmt::format("all of its group or none: {}", waits.limit->message);
  for (Entry* each : pod_group) each->no_capacity = waits;
  if (waits.retry_at) wakeups.push_back({pod_group.front()->request.key, *waits.retry_at - now});
  return false;
}

bool AdmissionQueue::admit_pod_group(Entry& first, base::TimePoint now, Wakeups& wakeups) {
  const std::vector<Entry*> pod_group = pod_group_of(first);
  if (pod_group.empty()) {  // somebody dropped out: they ask again when they see it
    leave_line(first);
    return true;
  }
  const auto count = static_cast<std::int64_t>(pod_group.size());
  const auto needs = needs_of(pod_group);
  if (scopes_.too_small(needs, count)) {  // a limit was lowered: it must not hold up the others
    leave_line(first);
    return true;
  }
  if (!scopes_.cluster_has_capacity(now, count)) return false;
  if (const std::string* full = scopes_.first_full(needs, now, *first.waiting)) {
    park(first, *full, needs.at(*full));
    return true;
  }
  if (!find_capacity(pod_group, now, wakeups)) {  // nothing is saved up for it meanwhile
    leave_line(first);
    return true;
  }
  for (Entry* each : pod_group) {
    each->asks = false;
    each->no_capacity.reset();
    admit(*each, now);
    wakeups.push_back({each->request.key, {}});
  }
  return true;
}

}  // namespace controllers
