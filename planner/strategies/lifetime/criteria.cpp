#include "planner/strategies/lifetime/criteria.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace strategies {
namespace {

/// Rounds down, also below zero.
std::int64_t whole_seconds(base::Duration duration) { return std::chrono::floor<base::seconds>(duration).count(); }

std::string age_text(std::int64_t seconds) { return base::format_age(base::seconds(seconds)); }

/// Formats both like kubectl; exactly if the texts would be equal ("8d is above 8d").
std::string age_above(std::int64_t age, std::int64_t limit) {
  std::string own = age_text(age);
  std::string other = age_text(limit);
  if (own == other) {
    own = base::format_duration(base::seconds(age));
    other = base::format_duration(base::seconds(limit));
  }
  return "age " + own + " is above " + other;
}

bool lists(const std::vector<std::string>& values, std::string_view value) {
  return !value.empty() && std::ranges::find(values, value) != values.end();
}

/// Returns the first of `reasons` found as the pod's reason or as waiting or terminated reason of a container in
/// scope, or "".
std::string_view matching_reason(const std::vector<std::string>& reasons, const api::Pod& pod, ContainerScope scope) {
  if (lists(reasons, pod.status_reason.get())) return pod.status_reason.get();
  for (const api::ContainerStatus& status : pod.container_statuses) {
    if (!scope.includes(status)) continue;
    if (lists(reasons, status.waiting_reason)) return status.waiting_reason;
    if (lists(reasons, status.terminated_reason)) return status.terminated_reason;
    if (scope.last_state && lists(reasons, status.last_terminated_reason)) return status.last_terminated_reason;
  }
  return {};
}

std::string_view matching_state(const std::vector<std::string>& states, const api::Pod& pod, ContainerScope scope) {
  if (const std::string_view phase = api::to_string(pod.phase); lists(states, phase)) return phase;
  return matching_reason(states, pod, scope);
}

std::string_view matching_wait(const std::vector<std::string>& states, const api::Pod& pod, ContainerScope scope) {
  if (const std::string_view phase = api::to_string(pod.phase); lists(states, phase)) return phase;
  for (const api::ContainerStatus& status : pod.container_statuses) {
    if (scope.includes(status) && lists(states, status.waiting_reason)) return status.waiting_reason;
  }
  return {};
}

std::optional<std::int32_t> matching_exit_code(const std::vector<std::int32_t>& codes, const api::Pod& pod,
                                               ContainerScope scope) {
  const auto is_listed = [&](const std::optional<std::int32_t>& code) {
    return code && std::ranges::find(codes, *code) != codes.end();
  };
  for (const api::ContainerStatus& status : pod.container_statuses) {
    if (!scope.includes(status)) continue;
    if (is_listed(status.exit_code)) return status.exit_code;
    if (scope.last_state && is_listed(status.last_exit_code)) return status.last_exit_code;
  }
  return std::nullopt;
}

/// Returns the first condition of the pod that a criterion matches, or nullptr.
const api::PodCondition* matching_condition(const std::vector<ConditionCriterion>& criteria, const Subject& subject) {
  for (const ConditionCriterion& criterion : criteria) {
    const auto matches = [&](const api::PodCondition& condition) { return criterion.matches(condition, subject.now); };
    const auto at = std::ranges::find_if(subject.pod.conditions, matches);
    if (at != subject.pod.conditions.end()) return &*at;
  }
  return nullptr;
}

std::int64_t restarts_within(base::seconds window, const api::ContainerStatus& status, const Subject& subject) {
  const base::TimePoint begin = subject.now - window;
  if (status.restart_count == 0 || subject.pod.meta.creation_timestamp >= begin) return status.restart_count;
  std::int64_t known = 0;
  if (subject.history != nullptr) {
    const auto total = subject.history->total_at(subject.pod.meta.uid, status.name, begin);
    if (total) known = std::max<std::int64_t>(0, status.restart_count - *total);
  }
  const bool last_is_inside = status.last_finished_at && *status.last_finished_at >= begin;
  return std::max<std::int64_t>(known, last_is_inside ? 1 : 0);
}

Criterion without_words(std::function<bool(const Subject&)> holds) {
  return {std::move(holds), [](const Subject&) { return std::string(); }};
}

}  // namespace

Criteria& Criteria::add(Criterion criterion) {
  all_.push_back(std::move(criterion));
  return *this;
}

bool Criteria::hold_for(const Subject& subject) const {
  return std::ranges::all_of(all_, [&](const Criterion& each) { return each.holds(subject); });
}

std::string Criteria::words_for(const Subject& subject) const {
  std::string text;
  for (const Criterion& each : all_) {
    std::string words = each.words(subject);
    if (text.empty()) {
      text = std::move(words);
    } else if (!words.empty()) {
      text.append(", ").append(words);
    }
  }
  return text;
}

bool ContainerScope::includes(const api::ContainerStatus& status) const {
  if (status.is_ephemeral) return ephemeral;
  return !status.is_init || init;
}

bool ConditionCriterion::matches(const api::PodCondition& condition, base::TimePoint now) const {
  if (!type.empty() && type != condition.type) return false;
  if (!status.empty() && status != api::to_string(condition.status)) return false;
  if (!reason.empty() && reason != condition.reason) return false;
  if (!min_seconds_since_transition) return true;
  if (condition.last_transition_time == base::TimePoint{}) return false;
  const base::Duration idle = now - condition.last_transition_time;
  return idle >= base::Duration::zero() && whole_seconds(idle) >= *min_seconds_since_transition;
}

std::optional<std::int64_t> age_in_seconds(const api::Pod& pod, base::TimePoint now) {
  if (pod.meta.creation_timestamp == base::TimePoint{}) return std::nullopt;
  const base::Duration age = now - pod.meta.creation_timestamp;
  if (age < base::Duration::zero()) return std::nullopt;
  return whole_seconds(age);
}

bool has_owner_of_kind(const api::Pod& pod, const std::vector<std::string>& kinds) {
  return !kinds.empty() && std::ranges::any_of(pod.meta.owner_references, [&](const api::OwnerReference& owner) {
    return lists(kinds, owner.kind);
  });
}

std::int64_t count_restarts(const RestartCriterion& restarts, const Subject& subject) {
  std::int64_t count = 0;
  for (const api::ContainerStatus& status : subject.pod.container_statuses) {
    if (!restarts.containers.includes(status)) continue;
    count += restarts.within ? restarts_within(*restarts.within, status, subject) : status.restart_count;
  }
  return count;
}

Criterion older_than(std::int64_t seconds) {
  return {[=](const Subject& subject) {
            const auto age = age_in_seconds(subject.pod, subject.now);
            return age && *age > seconds;
          },
          [=](const Subject& subject) { return age_above(*age_in_seconds(subject.pod, subject.now), seconds); }};
}

Criterion at_least_old(std::int64_t seconds) {
  return {[=](const Subject& subject) {
            const auto age = age_in_seconds(subject.pod, subject.now);
            return age && *age >= seconds;
          },
          [](const Subject& subject) {
            const auto age = age_in_seconds(subject.pod, subject.now);
            return age ? "age " + age_text(*age) : std::string("age unknown");
          }};
}

Criterion in_phase(std::vector<api::PodPhase> phases) {
  return {[phases = std::move(phases)](const Subject& subject) {
            return std::ranges::find(phases, subject.pod.phase) != phases.end();
          },
          [](const Subject& subject) { return fmt::format("phase {}", api::to_string(subject.pod.phase)); }};
}

Criterion in_state(std::vector<std::string> states, ContainerScope containers) {
  return {
      [=](const Subject& subject) { return !matching_state(states, subject.pod, containers).empty(); },
      [=](const Subject& subject) { return fmt::format("state {}", matching_state(states, subject.pod, containers)); }};
}

Criterion for_reason(std::vector<std::string> reasons, ContainerScope containers) {
  return {[=](const Subject& subject) { return !matching_reason(reasons, subject.pod, containers).empty(); },
          [=](const Subject& subject) {
            return fmt::format("reason {}", matching_reason(reasons, subject.pod, containers));
          }};
}

Criterion in_phase_or_waiting(std::vector<std::string> states, ContainerScope containers) {
  return without_words([=](const Subject& subject) { return !matching_wait(states, subject.pod, containers).empty(); });
}

Criterion with_exit_code(std::vector<std::int32_t> codes, ContainerScope containers) {
  return {[=](const Subject& subject) { return matching_exit_code(codes, subject.pod, containers).has_value(); },
          [=](const Subject& subject) {
            return fmt::format("exit code {}", matching_exit_code(codes, subject.pod, containers).value_or(0));
          }};
}

Criterion in_condition(std::vector<ConditionCriterion> conditions) {
  return {[=](const Subject& subject) { return matching_condition(conditions, subject) != nullptr; },
          [=](const Subject& subject) {
            const api::PodCondition* condition = matching_condition(conditions, subject);
            return fmt::format("condition {}={}", condition->type.get(), api::to_string(condition->status));
          }};
}

Criterion restarted(RestartCriterion restarts) {
  return {[=](const Subject& subject) { return count_restarts(restarts, subject) >= restarts.at_least; },
          [=](const Subject& subject) {
            const std::string window = restarts.within ? " within " + base::format_duration(*restarts.within) : "";
            return fmt::format("its containers restarted {} times{}, the threshold is {}",
                               count_restarts(restarts, subject), window, restarts.at_least);
          }};
}

bool is_owned_by(const api::Pod& pod, const api::NamespaceFilter& kinds) {
  return kinds.include.empty() ? !has_owner_of_kind(pod, kinds.exclude) : has_owner_of_kind(pod, kinds.include);
}

Criterion owned_by(api::NamespaceFilter kinds) {
  return without_words([kinds = std::move(kinds)](const Subject& subject) { return is_owned_by(subject.pod, kinds); });
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
