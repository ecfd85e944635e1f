#include <fmt/format.h>

#include <algorithm>

#include "api/vocabulary/blockers.hpp"
#include "controllers/admission/queue.hpp"
#include "controllers/admission/reservations.hpp"

/// PodGroups in the admission queue: their members are admitted together or not at all.
namespace controllers {

namespace {

bool waits(const AdmissionEntry* entry) { return entry->place() != nullptr; }

api::Blocker never_admitted(const AdmissionRequest& request, std::int64_t count, const std::string& limit) {
  return api::make_blocker(
      api::BlockerKind::kPodGroup, request.pod_group,
      fmt::format("{} pods of the PodGroup leave at the same time, which no limit ever allows: {}", count, limit));
}

}  // namespace

std::optional<api::Blocker> AdmissionQueue::too_large(const AdmissionRequest& request) const {
  const auto count = static_cast<std::int64_t>(request.together.size()) + 1;
  const auto total = scopes_.total_limit();
  const auto of_namespace = scopes_.namespace_limit();
  const auto refused = [&](const std::string& limit) { return never_admitted(request, count, limit); };
  if (total && count > *total) return refused(scopes_.blocker("").message);
  if (of_namespace && count > *of_namespace) return refused(scopes_.blocker("namespace/" + request.key.ns).message);
  if (request.together.size() < kMaxPodGroup) return std::nullopt;
  return refused(fmt::format("a PodGroup has at most {}", kMaxPodGroup));
}

std::optional<Slot> AdmissionQueue::refuse_too_large(Entry& entry, const AdmissionRequest& request) {
  if (request.together.empty()) return std::nullopt;
  AdmissionRequest alone = request;
  alone.together.clear();
  alone.surge_pod.reset();
  const bool attached = !entry.scopes.empty();
  if (!attached) set_scopes(entry, alone);
  auto blocker = too_large(request);
  if (!blocker) return std::nullopt;
  stop_asking(entry);
  set_scopes(entry, std::move(alone));
  recount(entry);
  return Slot{Slot::State::kWaiting, std::move(blocker)};
}

std::vector<AdmissionQueue::Entry*> AdmissionQueue::pod_group_of(const Entry& entry) {
  std::vector<Entry*> pod_group;
  std::set<api::ObjectKey> seen{entry.request.key};
  std::vector<api::ObjectKey> open{entry.request.key};
  while (!open.empty()) {
    const auto at = entries_.find(open.back());
    open.pop_back();
    if (at == entries_.end()) return {};
    Entry& member = at->second;
    if (member.has_slot()) continue;
    if (!member.asks_with_pod_group()) return {};
    pod_group.push_back(&member);
    for (const api::ObjectKey& each : member.request.together) {
      if (seen.insert(each).second) open.push_back(each);
    }
  }
  return pod_group;
}

/// The member that asks last finds the PodGroup complete. The first member in queue order then waits for all.
void AdmissionQueue::wait_with_pod_group(Entry& entry, std::int32_t attempt) {
  if (entry.place()) scopes_.reopen(entry.scopes);  // it may not be the first any more
  stop_waiting(entry);
  entry.turn = Entry::WaitingWithPodGroup{attempt};
  const std::vector<Entry*> pod_group = pod_group_of(entry);
  if (pod_group.empty() || scopes_.too_small(needs_of(pod_group), static_cast<std::int64_t>(pod_group.size()))) return;
  const auto order = [](const Entry* each) { return admission_order(each->request); };
  Entry* first = *std::ranges::min_element(pod_group, {}, order);
  for (Entry* each : pod_group) {
    if (each != first) stop_waiting(*each);
  }
  if (first->place() && first->place()->order == order(first)) return;
  stop_waiting(*first);
  std::get<Entry::WaitingWithPodGroup>(first->turn).place = Entry::Place{order(first)};
  make_ready(order(first));
}

void AdmissionQueue::leave_pod_group(Entry& entry) {
  if (!entry.asks_with_pod_group()) return;
  for (Entry* each : pod_group_of(entry)) {
    if (each->place()) scopes_.reopen(each->scopes);  // capacity saved for the PodGroup becomes free for others
    stop_waiting(*each);
  }
  stop_waiting(entry);
  entry.turn = Entry::Idle{};
}

AdmissionScopes::Needs AdmissionQueue::needs_of(const std::vector<Entry*>& pod_group) const {
  std::vector<const AdmissionScopes::Ids*> ids;
  for (const Entry* each : pod_group) ids.push_back(&each->scopes);
  return scopes_.needs_of(ids, pod_group.front()->request.pod_group);
}

api::Blocker AdmissionQueue::pod_group_blocker(const Entry& entry) {
  const std::vector<Entry*> pod_group = pod_group_of(entry);
  if (pod_group.empty())
    return api::make_blocker(api::BlockerKind::kPodGroup, entry.request.pod_group,
                             "waits until all members of its PodGroup request a slot");
  const auto needs = needs_of(pod_group);
  if (const auto limit = scopes_.too_small(needs, static_cast<std::int64_t>(pod_group.size()))) {
    const auto need = needs.find(*limit);
    const auto count = need == needs.end() ? static_cast<std::int64_t>(pod_group.size()) : need->second;
    return never_admitted(entry.request, count, scopes_.blocker(*limit).message);
  }
  const auto first = std::ranges::find_if(pod_group, waits);
  api::Blocker blocker = scopes_.blocker(first == pod_group.end() ? std::string() : (*first)->place()->parked_at);
  if (pod_group.size() > 1) blocker.message += fmt::format("; its PodGroup needs {} slots at once", pod_group.size());
  return blocker;
}

Slot AdmissionQueue::pod_group_slot(const Entry& entry) {
  const std::vector<Entry*> pod_group = pod_group_of(entry);
  const auto& no_capacity = std::get<Entry::WaitingWithPodGroup>(entry.turn).no_capacity;
  if (!pod_group.empty() && std::ranges::none_of(pod_group, waits) && no_capacity) return *no_capacity;
  return {Slot::State::kWaiting, pod_group_blocker(entry)};
}

bool AdmissionQueue::find_capacity(const std::vector<Entry*>& pod_group, base::TimePoint now, Wakeups& wakeups) {
  std::vector<Reservations::PlacementRequest> wanted;
  for (const Entry* each : pod_group) {
    if (const auto& surge_pod = each->request.surge_pod) wanted.push_back({each->request, *surge_pod});
  }
  if (!reservations_ || wanted.empty()) return true;
  std::vector<std::pair<Entry*, AdmissionRequest>> moved;  // requests before the move
  const auto takes = [&](const api::ObjectKey& key, const std::string& node) {
    Entry& entry = entries_.at(key);
    AdmissionRequest there = entry.request;
    there.target_node = node;
    if (!scopes_.target_has_capacity(there)) return false;
    moved.emplace_back(&entry, entry.request);
    set_scopes(entry, std::move(there));
    count_as(entry, Entry::Held::kSlot);  // so that the next member finds it counted there
    return true;
  };
  const auto refusal = reservations_->reserve_all(wanted, takes);
  if (!refusal) return true;
  for (auto& [entry, before] : moved) {
    recount(*entry);
    set_scopes(*entry, std::move(before));
    recount(*entry);
  }
  Slot waits = no_capacity(*refusal);
  if (waits.limit) waits.limit->message = fmt::format("all members of its PodGroup or none: {}", waits.limit->message);
  for (Entry* each : pod_group) std::get<Entry::WaitingWithPodGroup>(each->turn).no_capacity = waits;
  if (waits.retry_at) wakeups.push_back({pod_group.front()->request.key, *waits.retry_at - now});
  return false;
}

bool AdmissionQueue::admit_pod_group(Entry& first, base::TimePoint now, Wakeups& wakeups) {
  const std::vector<Entry*> pod_group = pod_group_of(first);
  if (pod_group.empty()) {  // a member dropped out; the others request again when they observe that
    stop_waiting(first);
    return true;
  }
  const auto count = static_cast<std::int64_t>(pod_group.size());
  const auto needs = needs_of(pod_group);
  if (scopes_.too_small(needs, count)) {  // a limit was lowered; the PodGroup must not block others
    stop_waiting(first);
    return true;
  }
  if (!scopes_.cluster_has_capacity(now, count)) return false;
  if (const std::string* full = scopes_.first_full(needs, now, first.place()->order)) {
    park(first, *full, needs.at(*full));
    return true;
  }
  if (!find_capacity(pod_group, now, wakeups)) {  // no capacity is saved for it meanwhile
    stop_waiting(first);
    return true;
  }
  for (Entry* each : pod_group) {
    admit(*each, now);
    wakeups.push_back({each->request.key, {}});
  }
  return true;
}

}  // namespace controllers
