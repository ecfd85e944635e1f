#pragma once

/// Criteria of a pod's lifecycle that strategies combine: age, phase, reason, exit code, restarts, owner, condition.
/// Pure. PodLifeTime, RemoveFailedPods, RemovePodsHavingTooManyRestarts and PodCriteria are lists of criteria.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/json/strict_object.hpp"
#include "base/clock.hpp"
#include "planner/strategies/common_args.hpp"
#include "planner/strategies/lifetime/restart_history.hpp"

namespace strategies {

/// Pod to be judged by a criterion.
struct Subject {
  const api::Pod& pod;
  base::TimePoint now;
  const RestartHistory* history = nullptr;  ///< nullptr if there is no restart history
};

/// One test of a pod. `words` explains why it holds; it is called only if it holds, and may return an empty text.
struct Criterion {
  std::function<bool(const Subject&)> holds;
  std::function<std::string(const Subject&)> words;
};

/// Conjunction of criteria. An empty list accepts every pod. Put cheap and selective criteria first.
class Criteria {
 public:
  Criteria& add(Criterion criterion);
  bool hold_for(const Subject& subject) const;
  /// Returns text such as "age 3h is above 1h, exit code 137". REQUIRES: hold_for(subject).
  std::string words_for(const Subject& subject) const;

 private:
  std::vector<Criterion> all_;
};

/// Container statuses that a criterion considers, in addition to the current state of ordinary containers.
struct ContainerScope {
  bool init = false;
  bool ephemeral = false;
  bool last_state = false;  ///< For reasons and exit codes: also consider the previous termination
  bool includes(const api::ContainerStatus& status) const;
};

/// All set fields must match the same condition of the pod.
struct ConditionCriterion {
  std::string type;
  std::string status;
  std::string reason;
  std::optional<std::int64_t> min_seconds_since_transition;

  bool matches(const api::PodCondition& condition, base::TimePoint now) const;
  friend bool operator==(const ConditionCriterion&, const ConditionCriterion&) = default;
};

/// Total restarts of all containers in scope.
struct RestartCriterion {
  std::int64_t at_least = 1;
  std::optional<base::seconds> within;  ///< nullopt means since the pod's creation
  ContainerScope containers{};
};

// --- criteria; callers must omit criteria whose list is empty
Criterion older_than(std::int64_t seconds);    ///< Age in whole seconds above this
Criterion at_least_old(std::int64_t seconds);  ///< Age in whole seconds at or above this
Criterion in_phase(std::vector<api::PodPhase> phases);
/// The pod's phase or reason, or a waiting or terminated reason of a container, is one of `states`.
Criterion in_state(std::vector<std::string> states, ContainerScope containers);
/// The pod's reason, or a waiting or terminated reason of a container, is one of `reasons`.
Criterion for_reason(std::vector<std::string> reasons, ContainerScope containers);
/// The pod's phase, or a waiting reason of a container, is one of `states`. Ignores terminated reasons.
Criterion in_phase_or_waiting(std::vector<std::string> states, ContainerScope containers);
/// A container in scope terminated with one of the codes, now or, with last_state, previously.
Criterion with_exit_code(std::vector<std::int32_t> codes, ContainerScope containers);
Criterion in_condition(std::vector<ConditionCriterion> conditions);
Criterion restarted(RestartCriterion restarts);
/// Include: at least one owner is of a listed kind. Exclude: no owner is; pods without owners pass.
Criterion owned_by(api::NamespaceFilter kinds);

// --- building blocks
/// Returns the whole seconds since creation, rounded down. Returns nullopt if the creation time is missing (a dump
/// without creationTimestamp) or in the future.
std::optional<std::int64_t> age_in_seconds(const api::Pod& pod, base::TimePoint now);
/// Returns whether an owner is of one of the kinds.
bool has_owner_of_kind(const api::Pod& pod, const std::vector<std::string>& kinds);
/// Returns whether owned_by() holds.
bool is_owned_by(const api::Pod& pod, const api::NamespaceFilter& kinds);
/// Returns the restarts of the containers in scope. With a window, counts only those known to be in it: all restarts
/// if the pod is younger than the window, those in `history`, or else the last one if it ended in the window.
std::int64_t count_restarts(const RestartCriterion& restarts, const Subject& subject);

std::vector<ConditionCriterion> read_conditions(api::StrictObject& args, std::string_view name);

}  // namespace strategies
