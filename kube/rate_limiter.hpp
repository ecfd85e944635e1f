#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/transport.hpp"

namespace kube {

/// Token bucket with `qps` tokens per second and a maximum of `burst` tokens. Pure: time is passed in. Not thread-safe.
class TokenBucket {
 public:
  /// Starts full. REQUIRES: qps > 0, burst >= 1.
  TokenBucket(double qps, int burst) : qps_(qps), burst_(burst), tokens_(burst) {}

  /// Takes one token if available.
  bool try_take(base::TimePoint now);
  /// Returns the time until the next token, zero if one is available.
  base::Duration until_next(base::TimePoint now);

 private:
  void refill(base::TimePoint now);

  double qps_;
  double burst_;
  double tokens_;
  std::optional<base::TimePoint> filled_at_;
};

struct RateLimiterOptions {
  double qps = 50;
  int burst = 100;
  int max_in_flight = 64;  ///< number of requests without an answer yet, excluding leases
};

/// Decides which waiting request is sent next. Leases pass immediately. The other flows share the tokens by weight
/// (evictions 8, writes 4, reads 2, lists 1), so none starves. Requests of one flow are first come, first served. Of
/// max_in_flight, lists may use a quarter, lists and reads together half, and with writes three quarters, so that a
/// slow list cannot delay an eviction. Thread-safe.
class RateLimiter {
 public:
  /// `clock` must outlive the limiter. Too small options are raised to a minimum (qps 0.1, burst 1, in flight 4).
  RateLimiter(const base::Clock& clock, RateLimiterOptions options);
  ~RateLimiter();
  RateLimiter(const RateLimiter&) = delete;
  RateLimiter& operator=(const RateLimiter&) = delete;

  /// Slot of a request in flight, released by the destructor. Must not outlive the limiter.
  class Permit {
   public:
    Permit(Permit&& other) noexcept : limiter_(std::exchange(other.limiter_, nullptr)), flow_(other.flow_) {}
    Permit& operator=(Permit&&) = delete;
    ~Permit();

   private:
    friend class RateLimiter;
    Permit(RateLimiter* limiter, Flow flow) : limiter_(limiter), flow_(flow) {}
    RateLimiter* limiter_;
    Flow flow_;
  };

  /// Blocks until the request may be sent. Returns kCancelled if `stop` is requested or the limiter was shut down.
  base::Result<Permit> acquire(Flow flow, std::stop_token stop = {});

  /// Makes every waiting and later acquire() return kCancelled. Idempotent.
  void shut_down();

  struct Stats {
    std::size_t waiting = 0;
    std::size_t in_flight = 0;
    std::uint64_t granted = 0;
    base::Duration waited{};  ///< sum over all granted requests
  };
  Stats stats() const;

 private:
  static constexpr std::size_t kFlows = 4;  // evictions, writes, reads, lists: most urgent first
  struct Waiter {
    std::condition_variable_any wake;
    bool granted = false;
  };
  struct FlowQueue {
    std::deque<Waiter*> waiting;
    double pass = 0;  // stride scheduling: the queue with the smallest pass goes next
    int in_flight = 0;
  };

  static std::size_t index_of(Flow flow);
  // REQUIRES, of all below: mutex_ held.
  bool has_slot(std::size_t queue) const;
  FlowQueue* next_queue();
  void grant_ready(base::TimePoint now);
  void join(std::size_t queue, Waiter* waiter);
  void leave(std::size_t queue, Waiter* waiter);
  base::Result<Permit> wait_for_turn(std::unique_lock<std::mutex>& lock, Flow flow, std::stop_token stop);
  void sleep(std::unique_lock<std::mutex>& lock, Waiter* waiter, std::stop_token stop);
  void wake_one_waiter();
  void release(Flow flow);

  const base::Clock& clock_;
  const RateLimiterOptions options_;
  mutable std::mutex mutex_;
  TokenBucket bucket_;
  std::array<FlowQueue, kFlows> queues_;
  double pass_ = 0;               // of the queue served last
  Waiter* timekeeper_ = nullptr;  // the one waiter that wakes for the next token
  bool shut_down_ = false;
  Stats stats_;
};

}  // namespace kube
