#include "controllers/operator/periodic_tasks.hpp"

#include <chrono>
#include <vector>

#include "base/time/stored_time.hpp"

namespace controllers {

void PeriodicTasks::follow() {
  follow_staleness();
  follow_clock();
  parts_.admission_rules.follow_time();
}

/// Enqueues everything after the clock was set back. The next reconcile corrects times that were stored while the
/// clock was ahead, and no other event would enqueue objects that wait for such a time.
void PeriodicTasks::follow_clock() {
  const base::Duration ahead = parts_.deps.clock.now() - parts_.steady.now();
  const base::Duration before = std::exchange(ahead_, ahead).value_or(ahead);
  if (before - ahead <= base::kClockTolerance) return;
  parts_.deps.log.warning("the clock was set back: stored times after now are corrected",
                          {base::kv("by", base::format_duration(before - ahead))});
  for (const auto& each : parts_.caches.evacuations.store().list()) parts_.evacuation_queue.queue.add(each->meta.key());
  parts_.enqueue_policies();
}

void PeriodicTasks::follow_staleness() {
  const std::vector<std::string> stale = parts_.caches.stale();
  if (std::exchange(was_stale_, !stale.empty()) == !stale.empty()) return;
  const base::Log& log = parts_.deps.log;
  if (stale.empty()) log.info("the caches follow the server again");
  for (const std::string& each : stale) {
    log.error("a cache is stale: no policy plans until it follows again", {base::kv("problem", each)});
  }
  parts_.enqueue_policies();
}

void PeriodicTasks::publish() {
  for (const NamedQueue& queue : parts_.all_queues()) publish_queue(queue);
  publish_slots();
  parts_.deps.metrics.gauge("evacuator_evacuations_stuck", "Evacuations whose state the API server refuses to store.")
      .set(static_cast<double>(parts_.evacuations.refused_writes().count()));
}

void PeriodicTasks::publish_queue(const NamedQueue& queue) {
  base::Metrics& metrics = parts_.deps.metrics;
  metrics.gauge("evacuator_queue_depth", "Keys that wait for a worker, delayed ones included.", {{"queue", queue.name}})
      .set(static_cast<double>(queue.queue.depth()));
  const auto reconciles = [&](const char* result, std::int64_t value) {
    const std::int64_t before = std::exchange(published_reconciles_[{queue.name, result}], value);
    metrics
        .counter("evacuator_reconciles_total", "Reconciles since the start, by result.",
                 {{"queue", queue.name}, {"result", result}})
        .increment(static_cast<double>(value - before));
  };
  reconciles("succeeded", queue.counts.succeeded);
  reconciles("failed", queue.counts.failed);
  reconciles("exception", queue.counts.exceptions);
}

void PeriodicTasks::publish_slots() {
  base::Metrics& metrics = parts_.deps.metrics;
  const AdmissionQueue::Usage usage = parts_.admission.usage();
  metrics.gauge("evacuator_slots_in_flight", "Evacuations that hold a slot.").set(static_cast<double>(usage.in_flight));
  metrics.gauge("evacuator_slots_waiting", "Evacuations that wait for a slot.").set(static_cast<double>(usage.waiting));
  if (usage.limit)
    metrics.gauge("evacuator_slots_limit", "Evacuations that may hold a slot at the same time.")
        .set(static_cast<double>(*usage.limit));
  for (const auto& [scope, fullness] : usage.scopes) {
    metrics
        .gauge("evacuator_scope_waiting", "Evacuations that wait because of a limit, by its scope.", {{"scope", scope}})
        .set(static_cast<double>(fullness.waiting));
    metrics
        .gauge("evacuator_scope_fullness", "Slots in use by limit, of the limit of that scope where it is highest.",
               {{"scope", scope}})
        .set(fullness.fullest);
  }
}

/// Relists the Evacuations when the keys change: the cached origins were verified with the keys of that time.
void PeriodicTasks::follow_keys() {
  const auto before = parts_.deps.keys.keys();
  parts_.deps.keys.refresh(parts_.deps.may_act());
  if (parts_.deps.keys.keys() != before && parts_.caches.evacuations.has_synced())
    (void)parts_.caches.evacuations.reflector().relist();
}

void PeriodicTasks::check_caches() {
  follow_keys();
  base::Metrics& metrics = parts_.deps.metrics;
  for (const auto& cache : parts_.all_caches()) {
    const auto age = cache.contact_age();
    metrics
        .gauge("evacuator_cache_contact_age_seconds",
               "Time since the cache of that kind last heard from the API server.", {{"kind", cache.name}})
        .set(std::chrono::duration<double>(age.value_or(base::Duration::zero())).count());
    if (!cache.size) continue;
    metrics.gauge("evacuator_cache_objects", "Objects in the cache of that kind.", {{"kind", cache.name}})
        .set(static_cast<double>(cache.size()));
  }
}

}  // namespace controllers
