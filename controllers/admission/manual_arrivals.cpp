#include "controllers/admission/manual_arrivals.hpp"

#include "base/time/stored_time.hpp"

namespace controllers {

using Held = AdmissionEntry::Held;

Held ManualArrivals::within_share(const AdmissionEntry& entry, Held held, std::optional<std::int64_t> limit) const {
  if (held != Held::kArrival || !entry.is_manual || entry.in_manual_arrivals) return held;
  const auto counted = counted_.find(entry.request.key.ns);
  const bool is_full = limit && counted != counted_.end() && counted->second >= *limit;
  return is_full ? Held::kWorkload : held;
}

void ManualArrivals::count(AdmissionEntry& entry) {
  const bool counts = entry.is_manual && entry.counted == Held::kArrival;
  if (std::exchange(entry.in_manual_arrivals, counts) == counts) return;
  const std::string& ns = entry.request.key.ns;
  if ((counted_[ns] += counts ? 1 : -1) == 0) counted_.erase(ns);
}

void ManualArrivals::schedule_end(AdmissionEntry& entry, const api::Evacuation& evacuation) {
  cancel_end(entry, evacuation.meta.key());
  const bool waits = evacuation.status.phase == api::EvacuationPhase::kVerifying;
  if (!entry.is_manual || !waits || patience_ == base::Duration::zero()) return;
  if (entry.stored_part() <= Held::kWorkload) return;
  const base::TimePoint now = clock_.now();
  entry.arrival_ends = base::clamp_to_now(evacuation.status.phase_entered_at.value_or(now), now) + patience_;
  ends_.insert({*entry.arrival_ends, evacuation.meta.key()});
}

std::optional<api::ObjectKey> ManualArrivals::take_ended(base::TimePoint now) {
  if (ends_.empty() || ends_.begin()->first > now) return std::nullopt;
  return ends_.extract(ends_.begin()).value().second;
}

void ManualArrivals::cancel_end(AdmissionEntry& entry, const api::ObjectKey& key) {
  if (entry.arrival_ends) ends_.erase({*entry.arrival_ends, key});
  entry.arrival_ends.reset();
}

}  // namespace controllers
