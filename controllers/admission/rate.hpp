#pragma once

#include <algorithm>

#include "api/limits.hpp"
#include "base/clock.hpp"

namespace controllers {

/// Token bucket for admissions. Uses whole microseconds, so that results are equal on every machine. Issues at most
/// burst + span / interval tokens over any span of time. Pure: callers pass the time. Not thread-safe.
class AdmissionRate {
 public:
  /// Starts full. REQUIRES: `limit` is valid (api::validate_limits).
  explicit AdmissionRate(const api::RateLimit& limit) : limit_(limit) {}

  const api::RateLimit& limit() const { return limit_; }
  bool has_token(base::TimePoint now, std::int64_t count = 1) const { return next_token(now, count) <= now; }
  /// Time at which `count` tokens are available; `now` or earlier if they are available now. REQUIRES: count ≤
  /// limit().burst.
  base::TimePoint next_token(base::TimePoint now, std::int64_t count = 1) const {
    return full_at(now) - (capacity() - limit_.interval() * count);
  }
  /// REQUIRES: has_token(now).
  void take(base::TimePoint now) { full_at_ = std::max(full_at(now), now) + limit_.interval(); }
  /// Returns the token of the newest admission, which was not used.
  void give_back() { full_at_ -= limit_.interval(); }
  /// Empties the bucket, because a new leader does not know the admissions of its predecessor.
  void drain(base::TimePoint now) { full_at_ = now + capacity(); }
  /// Replaces the limit; tokens already taken stay taken.
  void change(const api::RateLimit& limit, base::TimePoint now) {
    const base::Duration missing = std::max(full_at(now) - now, base::Duration::zero());
    const std::int64_t taken = (missing + limit_.interval() - base::Duration(1)) / limit_.interval();
    limit_ = limit;
    full_at_ = now + limit_.interval() * std::min<std::int64_t>(taken, limit_.burst);
  }

 private:
  base::Duration capacity() const { return limit_.interval() * limit_.burst; }
  /// Time at which the bucket is full. Limited to the fill time of an empty bucket, even if the clock was set back.
  base::TimePoint full_at(base::TimePoint now) const { return std::min(full_at_, now + capacity()); }

  api::RateLimit limit_;
  base::TimePoint full_at_{};
};

}  // namespace controllers
