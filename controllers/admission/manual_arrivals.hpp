#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "controllers/admission/entry.hpp"

namespace controllers {

/// Limits how manual Evacuations count on the nodes where their replacements are expected: in number per namespace, and
/// in time. The creator of manual Evacuations controls how long they wait for a replacement and whether one becomes
/// Ready; that must not block a node for other namespaces. Not thread-safe.
class ManualArrivals {
 public:
  /// `clock` must outlive the object.
  explicit ManualArrivals(const base::Clock& clock) : clock_(clock) {}

  /// Sets how long one counts, from the start of its phase. Zero: as long as it waits.
  void set_patience(base::Duration patience) { patience_ = patience; }

  /// Returns `held`, or less if the entry's namespace already has `limit` arrivals on target nodes (nullopt: no limit).
  AdmissionEntry::Held within_share(const AdmissionEntry& entry, AdmissionEntry::Held held,
                                    std::optional<std::int64_t> limit) const;
  /// Call after entry.counted has changed.
  void count(AdmissionEntry& entry);

  /// REQUIRES: `evacuation` is as the store shows it, and entry.stored was derived from it.
  void schedule_end(AdmissionEntry& entry, const api::Evacuation& evacuation);
  /// Removes and returns an entry whose time has passed by `now`. Returns nullopt if none remains.
  std::optional<api::ObjectKey> take_ended(base::TimePoint now);
  /// Removes the entry's scheduled end.
  void cancel_end(AdmissionEntry& entry, const api::ObjectKey& key);

 private:
  const base::Clock& clock_;
  base::Duration patience_ = base::minutes(10);
  std::set<std::pair<base::TimePoint, api::ObjectKey>> ends_;
  std::unordered_map<std::string, std::int64_t> counted_;  ///< number on target nodes, by namespace
};

}  // namespace controllers
