#include "controllers/policy/running/policy_statuses.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/descheduler_policy/history.hpp"
#include "controllers/status_patch.hpp"

namespace controllers {

api::DeschedulerPolicy PolicyStatuses::with_own_writes(api::DeschedulerPolicy policy) const {
  const auto own = own_.find(policy.meta.uid);
  if (own == own_.end()) return policy;
  if (policy.status.observed_generation < own->second.status.observed_generation) policy.status = own->second.status;
  if (!own->second.status.last_cycle) return policy;
  const auto& cached = policy.status.last_cycle;
  const base::TimePoint newest = own->second.status.last_cycle->start;
  const auto is_ahead = [now = clock_.now()](base::TimePoint time) { return is_from_the_future(time, now); };
  if (!cached || cached->start < std::chrono::floor<base::seconds>(newest) ||
      (is_ahead(cached->start) && !is_ahead(newest)))
    policy.status = own->second.status;
  return policy;
}

bool PolicyStatuses::must_write(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& known,
                                const api::DeschedulerPolicyStatus& next) const {
  const auto own = own_.find(seen.meta.uid);
  const bool known_is_stored = own == own_.end() || own->second.stored || seen.status == next;
  return !(known == next && known_is_stored);
}

base::Status PolicyStatuses::write(const ObservedPolicy& seen, const api::DeschedulerPolicyStatus& next) {
  auto [was, is] = api::encode_change(seen.status, next);
  const auto saved = client_.patch(kube::kPolicies, seen.meta.key(), kube::PatchType::kMerge,
                                   guarded_status_patch(seen.meta, was, std::move(is)), "status");
  own_[seen.meta.uid] = {next, saved.ok()};
  if (!saved) return saved.error().during("saving the policy's status");
  return base::Done{};
}

}  // namespace controllers
