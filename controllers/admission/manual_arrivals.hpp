#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "base/time/stored_time.hpp"
#include "controllers/admission/entry.hpp"

namespace controllers {

/// Limits how manual Evacuations count on the nodes where their replacements are expected: in number per namespace, and
/// in time. The creator of manual Evacuations controls how long they wait for a replacement and whether one becomes
/// Ready; that must not block a node for other namespaces. Not thread-safe.
class ManualArrivals {
 public:
  using Held = AdmissionEntry::Held;

  /// `clock` must outlive the object.
  explicit ManualArrivals(const base::Clock& clock) : clock_(clock) {}

  /// Sets how long one counts, from the start of its phase. Zero: as long as it waits.
  void set_patience(base::Duration patience) { patience_ = patience; }

  /// Returns `held`, or less if the entry's namespace already has `limit` arrivals on target nodes (nullopt: no limit).
  Held within_share(const AdmissionEntry& entry, Held held, std::optional<std::int64_t> limit) const {
    if (held != Held::kArrival || !entry.is_manual || entry.in_manual_arrivals) return held;
    const auto counted = counted_.find(entry.request.key.ns);
    const bool is_full = limit && counted != counted_.end() && counted->second >= *limit;
    return is_full ? Held::kWorkload : held;
  }
  /// Call after entry.counted has changed.
  void count(AdmissionEntry& entry) {
    const bool counts = entry.is_manual && entry.counted == Held::kArrival;
    if (std::exchange(entry.in_manual_arrivals, counts) == counts) return;
    const std::string& ns = entry.request.key.ns;
    if ((counted_[ns] += counts ? 1 : -1) == 0) counted_.erase(ns);
  }

  /// REQUIRES: `evacuation` is as the store shows it, and entry.stored was derived from it.
  void schedule_end(AdmissionEntry& entry, const api::Evacuation& evacuation) {
    cancel_end(entry, evacuation.meta.key());
    const bool waits = evacuation.status.phase == api::EvacuationPhase::kVerifying;
    if (!entry.is_manual || !waits || patience_ == base::Duration::zero()) return;
    if (entry.stored_part() <= Held::kWorkload) return;
    const base::TimePoint now = clock_.now();
    entry.arrival_ends = base::clamp_to_now(evacuation.status.phase_entered_at.value_or(now), now) + patience_;
    ends_.insert({*entry.arrival_ends, evacuation.meta.key()});
  }
  /// Removes and returns an entry whose time has passed by `now`. Returns nullopt if none remains.
  std::optional<api::ObjectKey> take_ended(base::TimePoint now) {
    if (ends_.empty() || ends_.begin()->first > now) return std::nullopt;
    return ends_.extract(ends_.begin()).value().second;
  }
  /// Removes the entry's scheduled end.
  void cancel_end(AdmissionEntry& entry, const api::ObjectKey& key) {
    if (entry.arrival_ends) ends_.erase({*entry.arrival_ends, key});
    entry.arrival_ends.reset();
  }

 private:
  const base::Clock& clock_;
  base::Duration patience_ = base::minutes(10);
  std::set<std::pair<base::TimePoint, api::ObjectKey>> ends_;
  std::unordered_map<std::string, std::int64_t> counted_;  ///< number on target nodes, by namespace
};

}  // namespace controllers
