#include "kube/rate_limiter.hpp"

#include <algorithm>
#include <cmath>

namespace kube {
namespace {

constexpr std::array<double, 4> kWeights = {8, 4, 2, 1};
constexpr base::Duration kMaxNap = base::milliseconds(100);  // a manual clock does not wake us

RateLimiterOptions with_minimums(RateLimiterOptions options) {
  options.qps = std::isfinite(options.qps) ? std::max(options.qps, 0.1) : 0.1;
  options.burst = std::max(options.burst, 1);
  options.max_in_flight = std::max(options.max_in_flight, 4);
  return options;
}

base::Error shutting_down() {
  return {base::ErrorCode::kCancelled, "stopped while waiting for the client's rate limit"};
}

}  // namespace

void TokenBucket::refill(base::TimePoint now) {
  // A clock set back must neither remove tokens nor delay the next ones indefinitely.
  const base::Duration passed = std::max(now - filled_at_.value_or(now), base::Duration::zero());
  tokens_ = std::min(burst_, tokens_ + qps_ * std::chrono::duration<double>(passed).count());
  filled_at_ = now;
}

bool TokenBucket::try_take(base::TimePoint now) {
  refill(now);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

base::Duration TokenBucket::until_next(base::TimePoint now) {
  refill(now);
  if (tokens_ >= 1) return base::Duration::zero();
  return std::chrono::ceil<base::Duration>(std::chrono::duration<double>((1 - tokens_) / qps_));
}

RateLimiter::RateLimiter(const base::Clock& clock, RateLimiterOptions options)
    : clock_(clock), options_(with_minimums(options)), bucket_(options_.qps, options_.burst) {}

RateLimiter::~RateLimiter() { shut_down(); }

RateLimiter::Permit::~Permit() {
  if (limiter_ != nullptr) limiter_->release(flow_);
}

std::size_t RateLimiter::index_of(Flow flow) {
  switch (flow) {
    case Flow::kLease:
    case Flow::kEviction: return 0;
    case Flow::kWrite: return 1;
    case Flow::kRead: return 2;
    case Flow::kList: return 3;
  }
  std::abort();
}

/// FlowQueue i and all less urgent ones together may hold (4 - i) quarters of the slots.
bool RateLimiter::has_slot(std::size_t queue) const {
  int held = 0;
  for (std::size_t i = kFlows; i-- > 0;) {
    held += queues_[i].in_flight;
    const int share = options_.max_in_flight * static_cast<int>(kFlows - i) / static_cast<int>(kFlows);
    if (i <= queue && held >= share) return false;
  }
  return true;
}

RateLimiter::FlowQueue* RateLimiter::next_queue() {
  FlowQueue* best = nullptr;
  for (std::size_t i = 0; i < kFlows; ++i) {
    if (queues_[i].waiting.empty() || !has_slot(i)) continue;
    if (best == nullptr || queues_[i].pass < best->pass) best = &queues_[i];
  }
  return best;
}

void RateLimiter::grant_ready(base::TimePoint now) {
  while (FlowQueue* queue = next_queue()) {
    if (!bucket_.try_take(now)) return;
    Waiter* const waiter = queue->waiting.front();
    queue->waiting.pop_front();
    pass_ = queue->pass;
    queue->pass += 1 / kWeights[static_cast<std::size_t>(queue - queues_.data())];
    ++queue->in_flight;
    waiter->granted = true;
    waiter->wake.notify_one();
  }
}

void RateLimiter::join(std::size_t queue, Waiter* waiter) {
  // A queue that was idle saved nothing up: it starts level with the one served last.
  if (queues_[queue].waiting.empty()) queues_[queue].pass = std::max(queues_[queue].pass, pass_);
  queues_[queue].waiting.push_back(waiter);
}

void RateLimiter::leave(std::size_t queue, Waiter* waiter) {
  std::erase(queues_[queue].waiting, waiter);
  if (timekeeper_ == waiter) timekeeper_ = nullptr;
  if (timekeeper_ == nullptr) wake_one_waiter();
}

void RateLimiter::wake_one_waiter() {
  for (const FlowQueue& queue : queues_) {
    if (!queue.waiting.empty()) return queue.waiting.front()->wake.notify_one();
  }
}

/// One waiter, the timekeeper, sleeps until the next token and serves all flows. The others sleep until they are
/// granted or become the timekeeper.
void RateLimiter::sleep(std::unique_lock<std::mutex>& lock, Waiter* waiter, std::stop_token stop) {
  const auto ended = [&] { return waiter->granted || shut_down_; };
  if (timekeeper_ != nullptr && timekeeper_ != waiter) {
    waiter->wake.wait(lock, stop, [&] { return ended() || timekeeper_ == nullptr; });
    return;
  }
  timekeeper_ = waiter;
  const base::Duration next = bucket_.until_next(clock_.now());
  const bool blocked_by_slots = next == base::Duration::zero();
  waiter->wake.wait_for(lock, stop, blocked_by_slots ? kMaxNap : std::min(next, kMaxNap), ended);
}

base::Result<RateLimiter::Permit> RateLimiter::wait_for_turn(std::unique_lock<std::mutex>& lock, Flow flow,
                                                             std::stop_token stop) {
  const std::size_t queue = index_of(flow);
  Waiter waiter;
  join(queue, &waiter);
  grant_ready(clock_.now());
  while (!waiter.granted && !shut_down_ && !stop.stop_requested()) {
    sleep(lock, &waiter, stop);
    if (!waiter.granted) grant_ready(clock_.now());
  }
  leave(queue, &waiter);
  if (!waiter.granted) return shutting_down();
  return Permit(this, flow);
}

base::Result<RateLimiter::Permit> RateLimiter::acquire(Flow flow, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (shut_down_ || stop.stop_requested()) return shutting_down();
  if (flow == Flow::kLease) return Permit(nullptr, flow);  // losing the lease is worse than exceeding the limit by one
  const base::TimePoint asked = clock_.now();
  auto permit = wait_for_turn(lock, flow, std::move(stop));
  if (permit) {
    ++stats_.granted;
    stats_.waited += std::max(clock_.now() - asked, base::Duration::zero());
  }
  return permit;
}

void RateLimiter::release(Flow flow) {
  const std::scoped_lock lock(mutex_);
  --queues_[index_of(flow)].in_flight;
  grant_ready(clock_.now());
}

void RateLimiter::shut_down() {
  const std::scoped_lock lock(mutex_);
  shut_down_ = true;
  for (const FlowQueue& queue : queues_) {
    for (Waiter* waiter : queue.waiting) waiter->wake.notify_one();
  }
}

RateLimiter::Stats RateLimiter::stats() const {
  const std::scoped_lock lock(mutex_);
  Stats stats = stats_;
  for (const FlowQueue& queue : queues_) {
    stats.waiting += queue.waiting.size();
    stats.in_flight += static_cast<std::size_t>(queue.in_flight);
  }
  return stats;
}

}  // namespace kube
