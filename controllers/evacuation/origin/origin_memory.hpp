#pragma once

/// Remembers the first object of each signature, and the proofs of this process.

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/clock.hpp"

namespace controllers {

/// Maximum difference between the signature's time and the object's creation time (API server's clock). Limits
/// replays of an old object under its former name.
inline constexpr base::seconds kOriginWindow{60};

/// A signature covers a namespace, a name, a pod and a time, but not the object's UID. A client that deletes the
/// operator's object and immediately recreates an identical one would have a second object with a valid signature. Only
/// the first object is accepted. Signatures are remembered for ten times kOriginWindow, which tolerates a lagging
/// cache. Thread-safe.
class OriginMemory {
 public:
  /// `clock` must outlive it.
  explicit OriginMemory(const base::Clock& clock) : clock_(clock) {}

  /// Records `uid` for a new signature. Returns whether `uid` is the first object with this signature; true if `uid` is
  /// empty (unknown).
  bool belongs_to(std::string_view mac, const std::string& uid) {
    if (uid.empty()) return true;
    const base::TimePoint now = clock_.now();
    const std::scoped_lock lock(mutex_);
    forget_old(now);
    const auto [known, is_new] = uids_.try_emplace(std::string(mac), uid);
    if (is_new) until_.emplace(now + 10 * kOriginWindow, known->first);
    return known->second == uid;
  }
  std::size_t size() const {
    const std::scoped_lock lock(mutex_);
    return uids_.size();
  }

  /// Contents of an object whose signature was verified.
  struct Proved {
    std::int32_t priority = 0;  ///< spec.priority
    std::string spec_hash;      ///< controllers::spec_hash()
  };
  /// Records that this process verified the signature of object `uid`.
  void note_proved(const std::string& uid, Proved proved) {
    if (uid.empty()) return;
    const std::scoped_lock lock(mutex_);
    proved_.insert_or_assign(uid, std::move(proved));
  }
  /// Returns nullopt if this process has not verified the object.
  std::optional<Proved> proved(const std::string& uid) const {
    const std::scoped_lock lock(mutex_);
    const auto found = proved_.find(uid);
    return found == proved_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Call when the object is gone.
  void forget(const std::string& uid) {
    const std::scoped_lock lock(mutex_);
    proved_.erase(uid);
  }

 private:
  void forget_old(base::TimePoint now) {
    while (!until_.empty() && until_.begin()->first <= now) {
      uids_.erase(until_.begin()->second);
      until_.erase(until_.begin());
    }
  }

  const base::Clock& clock_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::string> uids_;  ///< by signature
  std::set<std::pair<base::TimePoint, std::string>> until_;
  std::unordered_map<std::string, Proved> proved_;  ///< by UID
};

}  // namespace controllers
