#include "controllers/admission/pdb_waiters.hpp"

#include <algorithm>
#include <tuple>

namespace controllers {

void PdbWaitList::wait(const api::ObjectKey& evacuation, const api::ObjectKey& pdb, const Place& place) {
  const std::scoped_lock lock(mutex_);
  const auto known = budget_of_.find(evacuation);
  if (known != budget_of_.end() && known->second != pdb) leave_locked(evacuation);
  budget_of_[evacuation] = pdb;
  waiters_[pdb][evacuation].place = place;
}

void PdbWaitList::leave_locked(const api::ObjectKey& evacuation) {
  const auto known = budget_of_.find(evacuation);
  if (known == budget_of_.end()) return;
  const auto waiting = waiters_.find(known->second);
  waiting->second.erase(evacuation);
  if (waiting->second.empty()) waiters_.erase(waiting);
  budget_of_.erase(known);
}

std::vector<api::ObjectKey> PdbWaitList::wake(const api::ObjectKey& pdb, std::optional<std::int32_t> allowed) {
  const std::scoped_lock lock(mutex_);
  const auto waiting = waiters_.find(pdb);
  if (waiting == waiters_.end()) return {};
  std::vector<api::ObjectKey> keys;
  std::vector<Waiters::value_type*> alone;
  for (auto& each : waiting->second) {
    const std::int32_t together = each.second.place.together;
    if (together == 0) {
      alone.push_back(&each);
    } else if (!allowed || *allowed >= together) {
      keys.push_back(each.first);
    }
  }
  std::ranges::stable_sort(alone, {}, [](const Waiters::value_type* each) {
    const auto& [place, turn] = each->second;
    return std::tuple(-std::int64_t{place.priority}, turn, place.since);
  });
  if (allowed) alone.resize(std::min(alone.size(), static_cast<std::size_t>(std::max(*allowed, 0))));
  for (Waiters::value_type* each : alone) {
    woken_.insert(each->first);
    each->second.turn = ++turn_count_;
    keys.push_back(each->first);
  }
  return keys;
}

}  // namespace controllers
