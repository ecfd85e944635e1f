#pragma once

/// Which object a signature was found on first, and what this process has proved.

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

/// A signature is of a namespace, a name, a pod and a time, and not of an object: whoever deletes what the operator
/// made and makes it again at once, word for word, has a second object that fits it. Only the first one counts. Kept in
/// memory for ten times the window in which a signature counts at all, so a cache may lag. Thread-safe.
class OriginMemory {
 public:
  /// `clock` must outlive it.
  explicit OriginMemory(const base::Clock& clock) : clock_(clock) {}

  /// Is that object the first, or was it before? `uid` empty: nobody knows, yes.
  bool belongs_to(std::string_view mac, const std::string& uid);
  std::size_t size() const;

  /// What the operator's signature on an object is of.
  struct Proved {
    std::int32_t priority = 0;  ///< spec.priority
    std::string spec_hash;      ///< controllers::spec_hash()
  };
  /// This process has found the operator's signature on that object.
  void note_proved(const std::string& uid, Proved proved);
  /// nullopt: this process has not proved it.
  std::optional<Proved> proved(const std::string& uid) const;
  /// The object is gone.
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
