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

/// How Evacuations that were made by hand count on the nodes where their replacements are expected: only so many of a
/// namespace, and only for a while. Whoever makes Evacuations in one namespace chooses how long they wait for a
/// replacement, and may see to it that none gets Ready: a node of others must not wait for that. Not thread-safe.
class ManualArrivals {
 public:
  /// `clock` must outlive it.
  explicit ManualArrivals(const base::Clock& clock) : clock_(clock) {}

  /// One counts for so long from its phase on; zero: as long as it waits.
  void set_patience(base::Duration patience) { patience_ = patience; }

  /// `held`, or less where the entry's namespace fills as many target nodes as it may have slots, `limit` (nullopt: any
  /// number).
  AdmissionEntry::Held within_share(const AdmissionEntry& entry, AdmissionEntry::Held held,
                                    std::optional<std::int64_t> limit) const;
  /// To be called when entry.counted is another one.
  void count(AdmissionEntry& entry);

  /// `evacuation`: as the store shows it; what entry.stored says is of it.
  void schedule_end(AdmissionEntry& entry, const api::Evacuation& evacuation);
  /// One whose time is over by `now`, once; nullopt: there is none (left).
  std::optional<api::ObjectKey> take_ended(base::TimePoint now);
  /// Its time is nobody's business any more.
  void cancel_end(AdmissionEntry& entry, const api::ObjectKey& key);

 private:
  const base::Clock& clock_;
  base::Duration patience_ = base::minutes(10);
  std::set<std::pair<base::TimePoint, api::ObjectKey>> ends_;
  std::unordered_map<std::string, std::int64_t> counted_;  ///< on target nodes, by namespace
};

}  // namespace controllers
