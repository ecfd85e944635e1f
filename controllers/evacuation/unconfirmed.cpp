#include "controllers/evacuation/unconfirmed.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace controllers::evacuation {
namespace {

auto essence_of(const api::EvacuationStatus& status) {
  return std::tie(status.phase, status.reason, status.attempt, status.token, status.intent, status.phase_entered_at,
                  status.finished_at, status.blocked_since, status.blocked_count, status.evictor);
}

bool same_claim(const api::Condition& a, const api::Condition& b) {
  return a.type == b.type && a.status == b.status && a.reason == b.reason;
}

}  // namespace

bool shows(const api::EvacuationStatus& stored, const api::EvacuationStatus& written) {
  const auto is_stored = [&](const api::Condition& wanted) {
    return std::ranges::any_of(stored.conditions, [&](const auto& each) { return same_claim(each, wanted); });
  };
  return essence_of(stored) == essence_of(written) && std::ranges::all_of(written.conditions, is_stored);
}

void UnconfirmedWrites::note(UnconfirmedWrite write) {
  const std::scoped_lock lock(mutex_);
  auto& writes = writes_[write.before.meta.key()];
  if (writes.size() == kMaxUnconfirmed) writes.erase(writes.begin());
  writes.push_back(std::move(write));
}

std::vector<UnconfirmedWrite> UnconfirmedWrites::take_shown(const api::Evacuation& stored) {
  const std::scoped_lock lock(mutex_);
  const auto found = writes_.find(stored.meta.key());
  if (found == writes_.end()) return {};
  auto& writes = found->second;
  std::vector<UnconfirmedWrite> shown;
  const api::EvacuationStatus* status = &stored.status;
  for (auto write = writes.rbegin(); write != writes.rend(); ++write) {
    const bool is_on_top = write->before.meta.resource_version == stored.meta.resource_version;
    if (is_on_top || write->before.meta.uid != stored.meta.uid || !shows(*status, write->after)) continue;
    shown.insert(shown.begin(), *write);
    status = &write->before.status;
  }
  if (shown.empty()) return {};
  std::erase_if(writes, [&](const UnconfirmedWrite& each) {
    return each.before.meta.resource_version != stored.meta.resource_version;
  });
  if (writes.empty()) writes_.erase(found);
  return shown;
}

}  // namespace controllers::evacuation
