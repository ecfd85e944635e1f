#include "controllers/evacuation/origin/origin_memory.hpp"

#include "controllers/evacuation/origin/origin.hpp"

namespace controllers {

bool OriginMemory::belongs_to(std::string_view mac, const std::string& uid) {
  if (uid.empty()) return true;
  const base::TimePoint now = clock_.now();
  const std::scoped_lock lock(mutex_);
  forget_old(now);
  const auto [known, is_new] = uids_.try_emplace(std::string(mac), uid);
  if (is_new) until_.emplace(now + 10 * kOriginWindow, known->first);
  return known->second == uid;
}

void OriginMemory::forget_old(base::TimePoint now) {
  while (!until_.empty() && until_.begin()->first <= now) {
    uids_.erase(until_.begin()->second);
    until_.erase(until_.begin());
  }
}

std::size_t OriginMemory::size() const {
  const std::scoped_lock lock(mutex_);
  return uids_.size();
}

void OriginMemory::note_proved(const std::string& uid, Proved proved) {
  if (uid.empty()) return;
  const std::scoped_lock lock(mutex_);
  proved_.insert_or_assign(uid, std::move(proved));
}

std::optional<OriginMemory::Proved> OriginMemory::proved(const std::string& uid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = proved_.find(uid);
  return found == proved_.end() ? std::nullopt : std::optional(found->second);
}

void OriginMemory::forget(const std::string& uid) {
  const std::scoped_lock lock(mutex_);
  proved_.erase(uid);
}

}  // namespace controllers
