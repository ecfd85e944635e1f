#include "controllers/operator/periodic_tasks.hpp"

#include <chrono>
#include <vector>

#include "base/time/stored_time.hpp"
#include "controllers/admission/queue.hpp"
#include "controllers/evacuation/reconciler.hpp"
#include "controllers/operator/parts.hpp"
#include "controllers/policy/admission_rules.hpp"
#include "controllers/policy/decide.hpp"

namespace controllers {

void PeriodicTasks::follow() {
  follow_staleness();
  follow_clock();
  parts_.admission_rules->follow_time();
}

/// Enqueues everything after the clock was set back. The next reconcile corrects times that were stored while the
/// clock was ahead, and no other event would enqueue objects that wait for such a time.
void PeriodicTasks::follow_clock() {
  const base::Duration ahead = parts_.deps.clock.now() - parts_.steady.now();
  const base::Duration before = std::exchange(ahead_, ahead).value_or(ahead);
  if (before - ahead <= base::kClockTolerance) return;
  parts_.deps.log.warning("the clock was set back: correcting stored times in the future",
                          {base::kv("by", base::format_duration(before - ahead))});
  for (const auto& each : parts_.caches.evacuations.store().list()) parts_.evacuation_queue.queue.add(each->meta.key());
  parts_.enqueue_policies();
}

void PeriodicTasks::follow_staleness() {
  const std::vector<std::string> stale = parts_.caches.stale();
  if (std::exchange(was_stale_, !stale.empty()) == !stale.empty()) return;
  const base::Log& log = parts_.deps.log;
  if (stale.empty()) log.info("the caches receive updates from the server again");
  for (const std::string& each : stale) {
    log.error("a cache is stale: policies do not plan until it is up to date", {base::kv("problem", each)});
  }
  parts_.enqueue_policies();
}

void PeriodicTasks::publish() {
  for (const NamedQueue& queue : parts_.all_queues()) publish_queue(queue);
  publish_slots();
  parts_.deps.metrics
      .gauge("evacuator_evacuations_stuck", "Number of Evacuations whose status the API server refuses to store.")
      .set(static_cast<double>(parts_.evacuations->refused_writes().count()));
}

void PeriodicTasks::publish_queue(const NamedQueue& queue) {
  base::Metrics& metrics = parts_.deps.metrics;
  metrics
      .gauge("evacuator_queue_depth", "Number of keys that wait for a worker, including delayed ones.",
             {{"queue", queue.name}})
      .set(static_cast<double>(queue.queue.depth()));
  const auto reconciles = [&](const char* result, std::int64_t value) {
    const std::int64_t before = std::exchange(published_reconciles_[{queue.name, result}], value);
    metrics
        .counter("evacuator_reconciles_total", "Number of reconciles since the start, by result.",
                 {{"queue", queue.name}, {"result", result}})
        .increment(static_cast<double>(value - before));
  };
  reconciles("succeeded", queue.counts.succeeded);
  reconciles("failed", queue.counts.failed);
  reconciles("exception", queue.counts.exceptions);
}

void PeriodicTasks::publish_slots() {
  base::Metrics& metrics = parts_.deps.metrics;
  const AdmissionQueue::Usage usage = parts_.admission->usage();
  metrics.gauge("evacuator_slots_in_flight", "Number of Evacuations that hold a slot.")
      .set(static_cast<double>(usage.in_flight));
  metrics.gauge("evacuator_slots_waiting", "Number of Evacuations that wait for a slot.")
      .set(static_cast<double>(usage.waiting));
  if (usage.limit)
    metrics.gauge("evacuator_slots_limit", "Maximum number of Evacuations that hold a slot at the same time.")
        .set(static_cast<double>(*usage.limit));
  for (const auto& [scope, fullness] : usage.scopes) {
    metrics
        .gauge("evacuator_scope_waiting", "Number of Evacuations that wait because of a limit, by scope of the limit.",
               {{"scope", scope}})
        .set(static_cast<double>(fullness.waiting));
    metrics
        .gauge("evacuator_scope_fullness", "Number of slots in use, for the limit of the scope with the highest use.",
               {{"scope", scope}})
        .set(fullness.fullest);
  }
}

void PeriodicTasks::check_caches() {
  // Relist the Evacuations when the keys change: the cached origins were verified with the keys of that time.
  const auto before = parts_.deps.keys.keys();
  parts_.deps.keys.refresh(parts_.deps.may_act());
  if (parts_.deps.keys.keys() != before && parts_.caches.evacuations.has_synced())
    (void)parts_.caches.evacuations.reflector().relist();
  base::Metrics& metrics = parts_.deps.metrics;
  for (const auto& cache : parts_.all_caches()) {
    const auto age = cache.contact_age();
    metrics
        .gauge("evacuator_cache_contact_age_seconds",
               "Time since the cache of the kind last received data from the API server.", {{"kind", cache.name}})
        .set(std::chrono::duration<double>(age.value_or(base::Duration::zero())).count());
    if (!cache.size) continue;
    metrics.gauge("evacuator_cache_objects", "Number of objects in the cache of the kind.", {{"kind", cache.name}})
        .set(static_cast<double>(cache.size()));
  }
}

}  // namespace controllers
