#include <fmt/format.h>

#include <algorithm>

#include "controllers/admission/capacity.hpp"
#include "controllers/admission/queue.hpp"

/// The part of the line that is about gangs: pods that begin together or not at all.
namespace controllers {

std::vector<AdmissionQueue::Entry*> AdmissionQueue::gang_of(const Entry& entry) {
  std::vector<Entry*> gang;
  std::set<api::ObjectKey> seen{entry.request.key};
  std::vector<api::ObjectKey> open{entry.request.key};
  while (!open.empty()) {
    const auto at = entries_.find(open.back());
    open.pop_back();
    if (at == entries_.end()) return {};
    Entry& member = at->second;
    if (member.reserved > 0 || member.holds_slot) continue;
    if (!member.asks) return {};
    gang.push_back(&member);
    for (const api::ObjectKey& each : member.request.together) {
      if (seen.insert(each).second) open.push_back(each);
    }
  }
  return gang;
}

/// Whoever asks last finds the gang complete; the first of them in the order of the line stands there for all.
void AdmissionQueue::ask_with_gang(Entry& entry) {
  entry.asks = true;
  if (entry.waiting) scopes_.reopen(entry.scopes);  // it may not be the first any more
  leave_line(entry);
  const std::vector<Entry*> gang = gang_of(entry);
  if (gang.empty() || scopes_.too_small(needs_of(gang), static_cast<std::int64_t>(gang.size()))) return;
  const auto order = [](const Entry* each) { return admission_order(each->request); };
  Entry* first = *std::min_element(gang.begin(), gang.end(), [&](auto* a, auto* b) { return order(a) < order(b); });
  for (Entry* each : gang) {
    if (each != first) leave_line(*each);
  }
  line_up(*first, order(first));
}

void AdmissionQueue::stop_asking(Entry& entry) {
  if (!entry.asks) return;
  for (Entry* each : gang_of(entry)) {
    if (each->waiting) scopes_.reopen(each->scopes);  // what was saved up for them is free for others
    leave_line(*each);
  }
  entry.asks = false;
}

AdmissionScopes::Needs AdmissionQueue::needs_of(const std::vector<Entry*>& gang) const {
  std::vector<const AdmissionScopes::Ids*> ids;
  for (const Entry* each : gang) ids.push_back(&each->scopes);
  return scopes_.needs_of(ids, gang.front()->request.gang);
}

api::Blocker AdmissionQueue::gang_blocker(const Entry& entry) {
  const std::vector<Entry*> gang = gang_of(entry);
  api::Blocker blocker;
  blocker.kind = "Group";
  blocker.name = entry.request.gang;
  if (gang.empty()) {
    blocker.message = "waits until all of its group ask for a slot";
    return blocker;
  }
  const auto needs = needs_of(gang);
  if (const auto limit = scopes_.too_small(needs, static_cast<std::int64_t>(gang.size()))) {
    const auto need = needs.find(*limit);
    blocker.message = fmt::format("{} pods of the group leave at the same time, which no free slot will ever allow: {}",
                                  need == needs.end() ? gang.size() : need->second, scopes_.blocker(*limit).message);
    return blocker;
  }
  const auto first =
      std::find_if(gang.begin(), gang.end(), [](const Entry* each) { return each->waiting.has_value(); });
  blocker = scopes_.blocker(first == gang.end() ? std::string() : (*first)->parked_at);
  if (gang.size() > 1) blocker.message += fmt::format("; its group needs {} slots at once", gang.size());
  return blocker;
}

Slot AdmissionQueue::gang_slot(const Entry& entry) {
  const std::vector<Entry*> gang = gang_of(entry);
  const bool in_line =
      std::any_of(gang.begin(), gang.end(), [](const Entry* each) { return each->waiting.has_value(); });
  if (!gang.empty() && !in_line && entry.no_room) return *entry.no_room;
  return {Slot::State::kWaiting, gang_blocker(entry)};
}

bool AdmissionQueue::find_room(const std::vector<Entry*>& gang, base::TimePoint now, Wakeups& wakeups) {
  std::vector<RoomKeeper::Wish> wishes;
  for (const Entry* each : gang) {
    if (const auto& copy = each->request.second_copy) wishes.push_back({each->request, *copy});
  }
  if (!room_ || wishes.empty()) return true;
  std::vector<std::pair<Entry*, AdmissionRequest>> moved;  // as they were before
  const auto takes = [&](const api::ObjectKey& key, const std::string& node) {
    Entry& entry = entries_.at(key);
    AdmissionRequest there = entry.request;
    there.target_node = node;
    if (!scopes_.target_has_room(there)) return false;
    moved.emplace_back(&entry, entry.request);
    set_scopes(entry, std::move(there));
    entry.reserved = entry.wanted;  // the next one finds it there
    recount(entry);
    return true;
  };
  const auto refusal = room_->reserve_all(wishes, takes);
  if (!refusal) return true;
  for (auto& [entry, before] : moved) {
    entry->reserved = 0;
    recount(*entry);
    set_scopes(*entry, std::move(before));
  }
  Slot waits = no_room(*refusal);
  if (waits.limit) waits.limit->message = fmt::format("all of its group or none: {}", waits.limit->message);
  for (Entry* each : gang) each->no_room = waits;
  if (waits.retry_at) wakeups.push_back({gang.front()->request.key, *waits.retry_at - now});
  return false;
}

bool AdmissionQueue::admit_gang(Entry& first, base::TimePoint now, Wakeups& wakeups) {
  const std::vector<Entry*> gang = gang_of(first);
  if (gang.empty()) {  // somebody dropped out: they ask again when they see it
    leave_line(first);
    return true;
  }
  const auto count = static_cast<std::int64_t>(gang.size());
  const auto needs = needs_of(gang);
  if (scopes_.too_small(needs, count)) {  // a limit was lowered: it must not hold up the others
    leave_line(first);
    return true;
  }
  if (!scopes_.cluster_has_room(now, count)) return false;
  if (const std::string* full = scopes_.first_full(needs, now, *first.waiting)) {
    park(first, *full, needs.at(*full));
    return true;
  }
  if (!find_room(gang, now, wakeups)) {  // nothing is saved up for it meanwhile
    leave_line(first);
    return true;
  }
  for (Entry* each : gang) {
    each->asks = false;
    each->no_room.reset();
    admit(*each, now);
    wakeups.push_back({each->request.key, {}});
  }
  return true;
}

}  // namespace controllers
