#include "strategies/pod_criteria.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace strategies {
namespace {

/// Rounded down, also below zero.
std::int64_t whole_seconds(base::Duration duration) { return std::chrono::floor<base::seconds>(duration).count(); }

bool lists(const std::vector<std::string>& values, std::string_view value) {
  return !value.empty() && std::ranges::find(values, value) != values.end();
}

}  // namespace

std::optional<std::int64_t> age_in_seconds(const api::Pod& pod, base::TimePoint now) {
  const base::Duration age = now - pod.meta.creation_timestamp;
  if (age < base::Duration::zero()) return std::nullopt;
  return whole_seconds(age);
}

bool ContainerScope::includes(const api::ContainerStatus& status) const {
  if (status.is_ephemeral) return ephemeral;
  return !status.is_init || init;
}

std::string_view matching_state(const std::vector<std::string>& states, const api::Pod& pod, ContainerScope scope) {
  if (const std::string_view phase = api::to_string(pod.phase); lists(states, phase)) return phase;
  return matching_reason(states, pod, scope);
}

std::string_view matching_reason(const std::vector<std::string>& reasons, const api::Pod& pod, ContainerScope scope) {
  if (lists(reasons, pod.status_reason)) return pod.status_reason;
  for (const api::ContainerStatus& status : pod.container_statuses) {
    if (!scope.includes(status)) continue;
    if (lists(reasons, status.waiting_reason)) return status.waiting_reason;
    if (lists(reasons, status.terminated_reason)) return status.terminated_reason;
  }
  return {};
}

std::optional<std::int32_t> matching_exit_code(const std::vector<std::int32_t>& codes, const api::Pod& pod,
                                               ContainerScope scope) {
  for (const api::ContainerStatus& status : pod.container_statuses) {
    if (!scope.includes(status) || !status.exit_code) continue;
    if (std::ranges::find(codes, *status.exit_code) != codes.end()) return status.exit_code;
  }
  return std::nullopt;
}

bool has_owner_of_kind(const api::Pod& pod, const std::vector<std::string>& kinds) {
  return std::ranges::any_of(pod.meta.owner_references,
                             [&](const api::OwnerReference& owner) { return lists(kinds, owner.kind); });
}

bool ConditionCriterion::matches(const api::Condition& condition, base::TimePoint now) const {
  if (!type.empty() && type != condition.type) return false;
  if (!status.empty() && status != api::to_string(condition.status)) return false;
  if (!reason.empty() && reason != condition.reason) return false;
  if (!min_seconds_since_transition) return true;
  if (condition.last_transition_time == base::TimePoint{}) return false;
  const base::Duration idle = now - condition.last_transition_time;
  return idle >= base::Duration::zero() && whole_seconds(idle) >= *min_seconds_since_transition;
}

const api::Condition* matching_condition(const std::vector<ConditionCriterion>& criteria, const api::Pod& pod,
                                         base::TimePoint now) {
  for (const ConditionCriterion& criterion : criteria) {
    const auto matches = [&](const api::Condition& condition) { return criterion.matches(condition, now); };
    const auto at = std::ranges::find_if(pod.conditions, matches);
    if (at != pod.conditions.end()) return &*at;
  }
  return nullptr;
}

std::vector<ConditionCriterion> read_conditions(api::StrictObject& args, std::string_view name) {
  std::vector<ConditionCriterion> criteria;
  args.for_each(name, [&](const api::Json& item, const api::FieldPath& path) {
    ConditionCriterion criterion;
    api::StrictObject object(item, path, args.errors());
    object.read("type", criterion.type);
    object.read("status", criterion.status);
    object.read("reason", criterion.reason);
    object.read("minTimeSinceLastTransitionSeconds", criterion.min_seconds_since_transition);
    object.finish();
    if (criterion.min_seconds_since_transition && *criterion.min_seconds_since_transition < 0) {
      object.complain("minTimeSinceLastTransitionSeconds", "must not be negative");
    }
    if (criterion == ConditionCriterion{}) {
      args.errors().push_back({path.text(),
                               "must set at least one of type, status, reason and "
                               "minTimeSinceLastTransitionSeconds"});
    }
    criteria.push_back(std::move(criterion));
  });
  return criteria;
}

}  // namespace strategies
