#include "controllers/evacuation/reconciler.hpp"

#include <algorithm>

#include "base/backoff.hpp"
#include "controllers/evacuation/reconcile_run.hpp"

namespace controllers::evacuation {
namespace {

/// Delay before retrying a PDB that shows allowance right after it refused.
constexpr base::seconds kRetryOnAllowance{1};
/// Backoff after an answer that could not be stored.
constexpr base::Backoff kLostRecord{base::seconds(1), base::seconds(64)};
/// Maximum number of superseded resourceVersions remembered per object. If the cache lags by more writes, a write may
/// conflict.
constexpr std::size_t kMaxOlder = 64;

}  // namespace

Reconciler::Reconciler(Dependencies dependencies) : deps_(std::move(dependencies)) {}

base::Result<kube::Requeue> Reconciler::reconcile(const api::ObjectKey& key) {
  if (const auto left = refused_for(key)) return kube::Requeue::in(*left);
  if (const auto left = backs_off_for(key)) return kube::Requeue::in(*left);
  ReconcileRun reconcile_run(*this, key);
  auto result = reconcile_run.run();
  if (!result && reconcile_run.was_refused()) return reconcile_run.give_up(result.error());
  if (!result) return result;
  {
    const std::scoped_lock lock(mutex_);
    backoffs_.erase(key);
  }
  if (!pdb_waiters_.is_woken(key)) return result;
  const base::Duration soon = kRetryOnAllowance;
  return kube::Requeue::in(result->after ? std::min(*result->after, soon) : soon);
}

void Reconciler::back_off_after_lost_record(const api::ObjectKey& key) {
  const std::scoped_lock lock(mutex_);
  Backoff& backoff = backoffs_[key];
  backoff.until = steady_now() + base::backoff_delay(kLostRecord, ++backoff.failures);
}

std::optional<base::Duration> Reconciler::backs_off_for(const api::ObjectKey& key) const {
  const std::scoped_lock lock(mutex_);
  const auto backoff = backoffs_.find(key);
  if (backoff == backoffs_.end()) return std::nullopt;
  const base::Duration left = backoff->second.until - steady_now();
  return left > base::Duration::zero() ? std::optional(left) : std::nullopt;
}

/// resourceVersions can only be compared for equality; `older` records their order as observed.
std::optional<StoredEvacuation> Reconciler::newer_than(const api::Evacuation& cached) {
  const std::scoped_lock lock(mutex_);
  const auto own = own_writes_.find(cached.meta.key());
  if (own == own_writes_.end()) return std::nullopt;
  const bool is_same = own->second.stored.evacuation.meta.uid == cached.meta.uid;
  if (is_same && std::ranges::find(own->second.older, cached.meta.resource_version) != own->second.older.end())
    return own->second.stored;
  own_writes_.erase(own);
  return std::nullopt;
}

void Reconciler::note_write(const api::ObjectKey& key, const StoredEvacuation& written,
                            std::vector<std::string> older) {
  const std::scoped_lock lock(mutex_);
  OwnWrite& own = own_writes_[key];
  if (own.stored.evacuation.meta.uid != written.evacuation.meta.uid || own.older.size() > kMaxOlder) own.older.clear();
  std::ranges::move(older, std::back_inserter(own.older));
  std::erase(own.older, written.evacuation.meta.resource_version);  // a write that changed nothing
  own.stored = written;
}

std::optional<api::Evacuation> Reconciler::own_write(const api::ObjectMeta& meta) const {
  const std::scoped_lock lock(mutex_);
  const auto own = own_writes_.find(meta.key());
  if (own == own_writes_.end()) return std::nullopt;
  const api::Evacuation& written = own->second.stored.evacuation;
  const bool is_same =
      written.meta.uid == meta.uid && written.meta.resource_version == meta.resource_version && !meta.uid.empty();
  return is_same ? std::optional(written) : std::nullopt;
}

void Reconciler::forget_own(const api::ObjectKey& key) {
  departures_.forget(key);
  unconfirmed_.forget(key);
  const std::scoped_lock lock(mutex_);
  own_writes_.erase(key);
  unsaved_.erase(key);
}

bool Reconciler::mark_dead(const std::string& evictor, const std::string& ns, bool is_trusted, base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  auto& reports = dead_reports_[evictor];
  std::erase_if(reports, [&](const auto& each) { return each.second + kDeadFor <= now || each.second > now; });
  reports[ns] = now;
  if (!is_trusted && reports.size() < 2) return false;
  dead_until_[evictor] = now + kDeadFor;
  return true;
}

}  // namespace controllers::evacuation
