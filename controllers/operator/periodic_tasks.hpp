#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "controllers/operator/parts.hpp"

namespace controllers {

/// What an operator looks after by the clock, beside its workers. One thread at a time, but check_caches(), which
/// has a thread of its own.
class PeriodicTasks {
 public:
  explicit PeriodicTasks(OperatorParts& parts) : parts_(parts) {}

  /// Blackouts and gates that come and go by themselves, and stale caches: cycles are put off while a cache is stale,
  /// and whoever plans hears at once when that begins and ends. To be called every second, or before each step.
  void follow();
  /// The series of queues, workers and slots.
  void publish();
  /// Renews the keys when it is time, and publishes how old the caches are.
  void check_caches();

 private:
  void follow_keys();
  void follow_staleness();
  void follow_clock();
  void publish_queue(const NamedQueue& queue);
  void publish_slots();

  OperatorParts& parts_;
  bool was_stale_ = false;
  std::optional<base::Duration> ahead_;                                               ///< the clock, of the steady one
  std::map<std::pair<std::string, std::string>, std::int64_t> published_reconciles_;  ///< by queue and result
};

}  // namespace controllers
