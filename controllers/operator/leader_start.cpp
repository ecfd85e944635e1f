#include "controllers/operator/leader_start.hpp"

#include "base/sleep.hpp"
#include "controllers/admission/queue.hpp"
#include "controllers/advice/advice_poller.hpp"
#include "controllers/evacuation/reconciler.hpp"
#include "controllers/observability/tracing/evacuation_spans.hpp"
#include "controllers/operator/audit_trail.hpp"
#include "controllers/operator/parts.hpp"
#include "controllers/policy/admission_rules.hpp"

namespace controllers {
namespace {

/// The replica that made a verdict has recorded it after this time.
constexpr base::minutes kRecentVerdict{10};

/// Whether an earlier process started the Evacuation, or finished it and may not have recorded the verdict.
bool is_taken_over(const api::Evacuation& evacuation, base::TimePoint now) {
  if (!api::is_terminal(evacuation.status.phase)) return evacuation.status.attempt > 0;
  const auto& finished = evacuation.status.finished_at;
  return finished && now - *finished < kRecentVerdict;
}

}  // namespace

LeaderStart::Step LeaderStart::step() {
  if (!parts_.have_caches_synced()) return Step::kWaits;
  parts_.deps.keys.refresh(parts_.deps.may_act());
  if (resumed_) return Step::kBegun;
  kube::Reflector& evacuations = parts_.caches.evacuations.reflector();
  if (!relist_) {
    relist_ = evacuations.relist();
    return Step::kAsked;
  }
  if (!evacuations.has_relisted(*relist_)) return Step::kWaits;
  resumed_ = true;
  const base::TimePoint now = parts_.deps.clock.now();
  parts_.evacuations->resume(now);
  parts_.admission_rules->follow_time();
  parts_.admission->resume();
  for (const auto& each : parts_.caches.evacuations.store().list()) {
    if (!is_taken_over(*each, now)) continue;
    parts_.trail->on_taken_over(*each, now);
    parts_.tracer->on_taken_over(*each, now);
  }
  if (parts_.advice_service) parts_.advice_service->queue.add(advice::AdvicePoller::key());
  return Step::kBegun;
}

void LeaderStart::wait(std::stop_token stop) {
  while (!stop.stop_requested() && step() != Step::kBegun) base::sleep_unless_stopped(base::milliseconds(5), stop);
}

}  // namespace controllers
