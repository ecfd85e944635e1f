#include "controllers/operator/operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/allocator.hpp"
#include "base/sleep.hpp"
#include "controllers/operator/cache_followers.hpp"
#include "controllers/operator/leader_start.hpp"
#include "controllers/operator/parts.hpp"
#include "controllers/operator/periodic_tasks.hpp"
#include "controllers/operator/workers.hpp"
#include "controllers/webhooks/placement/webhook.hpp"
#include "controllers/webhooks/validation/webhook.hpp"

namespace controllers {
namespace {

/// Seconds after the start of the workers, so that the first evictions do not wait for the release of memory.
constexpr int kReleaseMemoryAfterSeconds = 10;

}  // namespace

struct Operator::Impl {
  explicit Impl(Dependencies dependencies) : parts(std::move(dependencies)) {}

  OperatorParts parts;
  LeaderStart start{parts};
  OperatorWorkers workers{parts};
  PeriodicTasks periodic_tasks{parts};
};

Operator::Operator(Dependencies dependencies) : impl_(std::make_unique<Impl>(std::move(dependencies))) {}
Operator::~Operator() = default;

void Operator::run_caches(std::stop_token stop) {
  CacheFollowers followers(impl_->parts.all_reflectors(), impl_->parts.steady, impl_->parts.deps.log);
  followers.start(stop);
  while (!stop.stop_requested()) {
    impl_->periodic_tasks.check_caches();
    base::sleep_unless_stopped(base::seconds(1), stop);
  }
}

void Operator::run_workers(std::stop_token stop) {
  impl_->start.wait(stop);
  if (stop.stop_requested()) return;
  impl_->parts.deps.log.info("reconciling", {base::kv("workers", impl_->parts.deps.config.workers)});
  impl_->workers.run(stop, [&] {
    for (int turn = 0; !stop.stop_requested(); ++turn) {
      if (turn == kReleaseMemoryAfterSeconds) base::return_free_memory();  // memory of the first lists
      impl_->periodic_tasks.publish();
      impl_->periodic_tasks.follow();
      base::sleep_unless_stopped(base::seconds(1), stop);
    }
  });
}

bool Operator::poll_caches() {
  bool busy = false;
  for (const auto& cache : impl_->parts.all_caches()) busy |= cache.reflector->poll();
  return busy;
}

bool Operator::reconcile_one() {
  const auto start = impl_->start.step();
  if (start != LeaderStart::Step::kBegun) return start == LeaderStart::Step::kAsked;
  impl_->periodic_tasks.follow();
  return impl_->workers.step_one();
}

bool Operator::step() {
  const bool busy = poll_caches();
  const auto start = impl_->start.step();
  if (start != LeaderStart::Step::kBegun) return busy || start == LeaderStart::Step::kAsked;
  impl_->periodic_tasks.follow();
  return impl_->workers.step_all() || busy;
}

std::optional<base::TimePoint> Operator::next_due() const {
  std::optional<base::TimePoint> earliest;
  for (const NamedQueue& queue : impl_->parts.all_queues()) {
    const auto due = queue.queue.next_due();
    if (due) earliest = std::min(earliest.value_or(*due), *due);
  }
  return earliest;
}

std::optional<std::string> Operator::review_pod(std::string_view review) const {
  return impl_->parts.placement_webhook->answer(review);
}

OnceReport Operator::once_report() const {
  OnceReport report = impl_->parts.once.report(impl_->parts.caches.policies.store().list());
  report.is_tidy = impl_->parts.taint_queue.queue.depth() == 0;
  return report;
}

std::optional<std::string> Operator::validate_object(std::string_view review) const {
  return impl_->parts.object_webhook->validate(review);
}

std::optional<std::string> Operator::record_creator(std::string_view review) const {
  return impl_->parts.object_webhook->record_creator(review);
}

bool Operator::has_synced() const { return impl_->parts.have_caches_synced(); }

base::Status Operator::ready() const {
  for (const auto& cache : impl_->parts.all_caches()) {
    const auto error = cache.reflector->last_error();
    if (!cache.is_settled()) {
      return base::unavailable(fmt::format("{}: not listed yet{}", cache.name, error ? ": " + error->message : ""));
    }
    if (auto stale = cache.staleness()) return base::unavailable(*std::move(stale));
  }
  const KeySource& keys = impl_->parts.deps.keys;
  return keys.keys() ? base::Status(base::Done{}) : base::unavailable(keys.problem());
}

base::Status Operator::alive() const { return impl_->parts.busy.alive(); }

}  // namespace controllers
