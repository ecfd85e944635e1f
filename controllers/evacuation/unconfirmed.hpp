#pragma once

/// Status writes whose answers were lost.

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "api/evacuation.hpp"
#include "api/meta/object_meta.hpp"
#include "kube/runtime/event.hpp"

namespace controllers::evacuation {

/// Status write that the server may have carried out. Its audit records, Events and metrics are published once the
/// stored object shows it.
struct UnconfirmedWrite {
  api::Evacuation before;       ///< base of the write
  api::EvacuationStatus after;  ///< status written
  std::vector<kube::Event> events;
};

/// Keeps the newest kMaxUnconfirmed writes per Evacuation, in memory only. Losing them loses records; the next process
/// records missing verdicts. Thread-safe.
class UnconfirmedWrites {
 public:
  static constexpr std::size_t kMaxUnconfirmed = 8;

  void note(UnconfirmedWrite write);
  /// Removes and returns the write that `stored` shows and the writes it was based on, oldest first. Discards writes
  /// that can no longer be stored; keeps those based on `stored`, which may still arrive.
  std::vector<UnconfirmedWrite> take_shown(const api::Evacuation& stored);
  /// Call when a later write is confirmed or the object is gone.
  void forget(const api::ObjectKey& key) {
    const std::scoped_lock lock(mutex_);
    writes_.erase(key);
  }

 private:
  std::mutex mutex_;
  std::map<api::ObjectKey, std::vector<UnconfirmedWrite>> writes_;  ///< oldest first
};

/// Whether `stored` contains the result of the write. `stored` may be trimmed like finished Evacuations in the cache.
bool shows(const api::EvacuationStatus& stored, const api::EvacuationStatus& written);

}  // namespace controllers::evacuation
