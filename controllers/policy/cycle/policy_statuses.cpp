#include "controllers/policy/cycle/policy_statuses.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/core/codec.hpp"
#include "api/descheduler_policy/status.hpp"
#include "kube/status_patch.hpp"

namespace controllers {

std::shared_ptr<const ObservedPolicy> PolicyStatuses::as_stored(std::shared_ptr<const ObservedPolicy> cached) {
  const auto found = own_.find(cached->meta.uid);
  if (found == own_.end()) return cached;
  SavedStatus& own = found->second;
  // A version that is not one we replaced is newer than all of ours, because a write onto another version is refused.
  own.replaced.erase(own.replaced.begin(), std::ranges::find(own.replaced, cached->meta.resource_version));
  if (own.replaced.empty()) return cached;
  auto stored = std::make_shared<ObservedPolicy>(*cached);
  stored->meta.resource_version = own.version;
  stored->status = own.status;
  return stored;
}

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
                                   kube::guarded_status_patch(seen.meta, was, std::move(is)), "status");
  SavedStatus& own = own_[seen.meta.uid];
  own.status = next;
  own.stored = saved.ok();
  const auto meta = saved ? api::decode_meta(*saved) : base::Result<api::ObjectMeta>(saved.error());
  if (!meta) {
    own.replaced.clear();  // unknown what is stored until the cache shows it
  } else {
    if (meta->resource_version != seen.meta.resource_version) own.replaced.push_back(seen.meta.resource_version);
    own.version = meta->resource_version;
  }
  if (!saved) return saved.error().during("saving the policy's status");
  return base::Done{};
}

}  // namespace controllers
