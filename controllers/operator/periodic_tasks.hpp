#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "controllers/operator/controller_queue.hpp"

namespace controllers {

struct OperatorParts;

/// Time-driven tasks of the operator, separate from its workers. Call all methods from one thread, except
/// check_caches(), which has its own thread.
class PeriodicTasks {
 public:
  explicit PeriodicTasks(OperatorParts& parts) : parts_(parts) {}

  /// Updates blackouts, gates and stale caches, which change over time without an event. Cycles are postponed while a
  /// cache is stale, and policies are enqueued when staleness begins and ends. Call every second, or before each step.
  void follow();
  /// Publishes the metrics of queues, workers and slots.
  void publish();
  /// Renews the signing keys when due, and publishes the ages of the caches.
  void check_caches();

 private:
  void follow_staleness();
  void follow_clock();
  void publish_queue(const NamedQueue& queue);
  void publish_slots();

  OperatorParts& parts_;
  bool was_stale_ = false;
  std::optional<base::Duration> ahead_;  ///< Offset of the wall clock from the steady clock
  std::map<std::pair<std::string, std::string>, std::int64_t> published_reconciles_;  ///< By queue and result
};

}  // namespace controllers
