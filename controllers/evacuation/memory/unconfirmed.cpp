#include "controllers/evacuation/memory/unconfirmed.hpp"

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
  writes_.insert_or_assign(write.before.meta.key(), std::move(write));
}

std::optional<UnconfirmedWrite> UnconfirmedWrites::take_shown(const api::Evacuation& stored) {
  const std::scoped_lock lock(mutex_);
  const auto found = writes_.find(stored.meta.key());
  if (found == writes_.end() || found->second.before.meta.uid != stored.meta.uid) return std::nullopt;
  const bool is_older = found->second.before.meta.resource_version == stored.meta.resource_version;
  if (is_older || !shows(stored.status, found->second.after)) return std::nullopt;
  return std::move(writes_.extract(found).mapped());
}

void UnconfirmedWrites::forget(const api::ObjectKey& key) {
  const std::scoped_lock lock(mutex_);
  writes_.erase(key);
}

}  // namespace controllers::evacuation
