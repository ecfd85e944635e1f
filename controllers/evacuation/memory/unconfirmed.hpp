#pragma once

/// Status writes whose answers were lost.

#include <map>
#include <mutex>
#include <optional>
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

/// The newest of each Evacuation. Memory only: losing it costs records, and the next process records verdicts that are
/// missing. Thread-safe.
class UnconfirmedWrites {
 public:
  void note(UnconfirmedWrite write);
  /// Takes the write that `stored` shows; nullopt: there is none.
  std::optional<UnconfirmedWrite> take_shown(const api::Evacuation& stored);
  /// A later write has been confirmed, or the object is gone.
  void forget(const api::ObjectKey& key);

 private:
  std::mutex mutex_;
  std::map<api::ObjectKey, UnconfirmedWrite> writes_;
};

/// `stored` may be trimmed: it lacks what finished Evacuations in the cache lack.
bool shows(const api::EvacuationStatus& stored, const api::EvacuationStatus& written);

}  // namespace controllers::evacuation
