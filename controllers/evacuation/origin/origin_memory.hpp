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
  bool belongs_to(std::string_view mac, const std::string& uid);
  std::size_t size() const;

  /// Contents of an object whose signature was verified.
  struct Proved {
    std::int32_t priority = 0;  ///< spec.priority
    std::string spec_hash;      ///< controllers::spec_hash()
  };
  /// Records that this process verified the signature of object `uid`.
  void note_proved(const std::string& uid, Proved proved);
  /// Returns nullopt if this process has not verified the object.
  std::optional<Proved> proved(const std::string& uid) const;
  /// Call when the object is gone.
  void forget(const std::string& uid);

 private:
  void forget_old(base::TimePoint now);

  const base::Clock& clock_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::string> uids_;  ///< by signature
  std::set<std::pair<base::TimePoint, std::string>> until_;
  std::unordered_map<std::string, Proved> proved_;  ///< by UID
};

}  // namespace controllers
