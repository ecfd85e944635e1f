#include "controllers/evacuation/departures.hpp"

namespace controllers::evacuation {

void Departures::note_pod(const api::ObjectKey& evacuation, const std::string& pod_uid) {
  const std::scoped_lock lock(mutex_);
  KnownDeparture& known = known_[evacuation];
  if (known.pod_uid == pod_uid) return;
  release(known);
  known = KnownDeparture{pod_uid, {}, std::nullopt};
}

bool Departures::has_shown(const api::ObjectKey& evacuation, const std::string& pod_uid) const {
  const std::scoped_lock lock(mutex_);
  const auto known = known_.find(evacuation);
  return known != known_.end() && known->second.pod_uid == pod_uid;
}

base::TimePoint Departures::left_at(const api::ObjectKey& evacuation, base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  const auto known = known_.find(evacuation);
  if (known == known_.end()) return now;
  if (!known->second.left_at) known->second.left_at = now;
  return *known->second.left_at;
}

bool Departures::claim(const api::ObjectKey& evacuation, const std::string& replacement_uid) {
  const std::scoped_lock lock(mutex_);
  const auto holder = claimed_by_.find(replacement_uid);
  if (holder != claimed_by_.end()) return holder->second == evacuation;
  KnownDeparture& known = known_[evacuation];
  release(known);
  known.replacement_uid = replacement_uid;
  claimed_by_.emplace(replacement_uid, evacuation);
  return true;
}

bool Departures::is_claimed_by_another(const api::ObjectKey& evacuation, const std::string& pod_uid) const {
  const std::scoped_lock lock(mutex_);
  const auto holder = claimed_by_.find(pod_uid);
  return holder != claimed_by_.end() && holder->second != evacuation;
}

void Departures::forget(const api::ObjectKey& evacuation) {
  const std::scoped_lock lock(mutex_);
  const auto known = known_.find(evacuation);
  if (known == known_.end()) return;
  release(known->second);
  known_.erase(known);
}

void Departures::release(KnownDeparture& known) {
  if (!known.replacement_uid.empty()) claimed_by_.erase(known.replacement_uid);
  known.replacement_uid.clear();
}

}  // namespace controllers::evacuation
