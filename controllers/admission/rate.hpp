#pragma once

#include "api/limits.hpp"
#include "base/clock.hpp"

namespace controllers {

/// A token bucket over admissions. Whole microseconds, so equal calls give equal answers on every machine; over any
/// span of time it gives at most burst + span / interval tokens. Pure: time is passed in. Not thread-safe.
class AdmissionRate {
 public:
  /// Starts full. REQUIRES: `limit` is valid (api::validate_limits).
  explicit AdmissionRate(const api::RateLimit& limit) : limit_(limit) {}

  const api::RateLimit& limit() const { return limit_; }
  bool has_token(base::TimePoint now, std::int64_t count = 1) const { return next_token(now, count) <= now; }
  /// When there are `count`; `now` or earlier if there are now. REQUIRES: count ≤ limit().burst, else never.
  base::TimePoint next_token(base::TimePoint now, std::int64_t count = 1) const;
  /// REQUIRES: has_token(now).
  void take(base::TimePoint now);
  /// The newest admission was not used.
  void give_back() { full_at_ -= limit_.interval(); }
  /// As if all had been taken a moment ago: a new leader does not know what its predecessor admitted.
  void drain(base::TimePoint now) { full_at_ = now + capacity(); }
  /// Another limit from now on; what was taken stays taken.
  void change(const api::RateLimit& limit, base::TimePoint now);

 private:
  base::Duration capacity() const { return limit_.interval() * limit_.burst; }
  /// When all tokens are there again. Never beyond an empty bucket, even if the clock was set back.
  base::TimePoint full_at(base::TimePoint now) const { return std::min(full_at_, now + capacity()); }

  api::RateLimit limit_;
  base::TimePoint full_at_{};
};

}  // namespace controllers
