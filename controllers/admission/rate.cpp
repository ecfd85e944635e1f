#include "controllers/admission/rate.hpp"

#include <algorithm>

namespace controllers {

base::TimePoint AdmissionRate::next_token(base::TimePoint now, std::int64_t count) const {
  return full_at(now) - (capacity() - limit_.interval() * count);
}

void AdmissionRate::take(base::TimePoint now) { full_at_ = std::max(full_at(now), now) + limit_.interval(); }

void AdmissionRate::change(const api::RateLimit& limit, base::TimePoint now) {
  const base::Duration missing = std::max(full_at(now) - now, base::Duration::zero());
  const std::int64_t taken = (missing + limit_.interval() - base::Duration(1)) / limit_.interval();
  limit_ = limit;
  full_at_ = now + limit_.interval() * std::min<std::int64_t>(taken, limit_.burst);
}

}  // namespace controllers
