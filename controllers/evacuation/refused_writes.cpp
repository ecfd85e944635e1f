#include "controllers/evacuation/refused_writes.hpp"

#include <fmt/format.h>

#include "api/origin.hpp"
#include "api/vocabulary/events.hpp"

namespace controllers::evacuation {
namespace {

constexpr std::size_t kMaxServerMessage = 600;

}  // namespace

std::string refusal_text(const api::Evacuation& evacuation, const std::string& servers_words) {
  const std::string pod = evacuation.spec.pod_ref.name.empty() ? "its pod" : "pod " + evacuation.spec.pod_ref.name;
  const std::string begun =
      evacuation.status.attempt == 0
          ? std::string()
          : fmt::format("; attempt {} stops at this point ({}), and its effects on other components remain",
                        evacuation.status.attempt, to_string(evacuation.status.phase));
  return fmt::format(
      "the API server refuses to store the status of Evacuation {}/{}, so {} is not moved and its slot is returned{}; "
      "correct its spec where it is still mutable (kubectl edit), or apply the CRD under which it was created: {}",
      evacuation.meta.ns, evacuation.meta.name, pod, begun, servers_words.substr(0, kMaxServerMessage));
}

bool RefusedWrites::note(const api::Evacuation& evacuation, const std::string& problem, base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  Refusal& refusal = refusals_[evacuation.meta.key()];
  const bool is_news = refusal.resource_version != evacuation.meta.resource_version || refusal.problem.empty();
  refusal = {evacuation.meta.resource_version, api::policy_of(evacuation), problem, now + kRefusedRetry};
  return is_news;
}

std::optional<base::Duration> RefusedWrites::backs_off_for(const api::ObjectKey& key,
                                                           const std::string& resource_version,
                                                           base::TimePoint now) const {
  const std::scoped_lock lock(mutex_);
  const auto at = refusals_.find(key);
  if (at == refusals_.end() || at->second.resource_version != resource_version || now >= at->second.until)
    return std::nullopt;
  return at->second.until - now;
}

std::vector<std::string> RefusedWrites::problems_of(const std::string& policy) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> problems;
  for (const auto& [key, refusal] : refusals_) {
    if (refusal.policy == policy)
      problems.push_back(fmt::format("{}: {}", to_string(api::EventReason::kWriteRefused), refusal.problem));
  }
  return problems;
}

}  // namespace controllers::evacuation
