#include "controllers/evacuation/reconciler.hpp"

#include <algorithm>

#include "base/backoff.hpp"
#include "controllers/evacuation/reconciliation.hpp"

namespace controllers::evacuation {
namespace {

/// A PDB that shows allowance right after it refused is asked again this soon.
constexpr base::seconds kRetryOnAllowance{1};
/// After an answer that could not be stored.
constexpr base::Backoff kLostRecord{base::seconds(1), base::seconds(64)};

}  // namespace

Reconciler::Reconciler(Dependencies dependencies) : deps_(std::move(dependencies)) {}

void Reconciler::resume(base::TimePoint now) { resumed_at_ = now.time_since_epoch().count(); }

base::Result<kube::Requeue> Reconciler::reconcile(const api::ObjectKey& key) {
  if (const auto left = refused_for(key)) return kube::Requeue::in(*left);
  if (const auto left = backs_off_for(key)) return kube::Requeue::in(*left);
  Reconciliation reconciliation(*this, key);
  auto result = reconciliation.run();
  if (!result && reconciliation.was_refused()) return reconciliation.give_up(result.error());
  if (!result) return result;
  {
    const std::scoped_lock lock(mutex_);
    backoffs_.erase(key);
  }
  if (!pdb_waiters_.is_woken(key)) return result;
  const base::Duration soon = kRetryOnAllowance;
  return kube::Requeue::in(result->after ? std::min(*result->after, soon) : soon);
}

/// Its last write was refused, and it is what it was then.
std::optional<base::Duration> Reconciler::refused_for(const api::ObjectKey& key) const {
  const auto cached = deps_.evacuations.get(key);
  return cached ? refused_.backs_off_for(key, cached->meta.resource_version, steady_now()) : std::nullopt;
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

void Reconciler::mark_dead(const std::string& evictor, base::TimePoint until) {
  const std::scoped_lock lock(mutex_);
  dead_until_[evictor] = until;
}

}  // namespace controllers::evacuation
