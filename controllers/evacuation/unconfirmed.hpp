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

/// A status write that the server may have carried out. Audit records, Events and metrics of it are due once the stored
/// object shows it.
struct UnconfirmedWrite {
  api::Evacuation before;       ///< on which it was based
  api::EvacuationStatus after;  ///< what was written
  std::vector<kube::Event> events;
};

/// The newest kMaxUnconfirmed of each Evacuation. Memory only: losing it costs records, and the next process records
/// verdicts that are missing. Thread-safe.
class UnconfirmedWrites {
 public:
  static constexpr std::size_t kMaxUnconfirmed = 8;

  void note(UnconfirmedWrite write);
  /// Takes the write that `stored` shows and those that it was based on, oldest first. Writes that can no longer be
  /// stored are forgotten; one on top of `stored` may still arrive.
  std::vector<UnconfirmedWrite> take_shown(const api::Evacuation& stored);
  /// A later write has been confirmed, or the object is gone.
  void forget(const api::ObjectKey& key);

 private:
  std::mutex mutex_;
  std::map<api::ObjectKey, std::vector<UnconfirmedWrite>> writes_;  ///< oldest first
};

/// `stored` may be trimmed: it lacks what finished Evacuations in the cache lack.
bool shows(const api::EvacuationStatus& stored, const api::EvacuationStatus& written);

}  // namespace controllers::evacuation
