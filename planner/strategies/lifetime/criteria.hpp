#pragma once

/// Criteria about a pod's life that strategies combine: age, phase, reason, exit code, restarts, owner, condition.
/// All pure. PodLifeTime, RemoveFailedPods, RemovePodsHavingTooManyRestarts and PodCriteria are lists of these.

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

/// The pod that a criterion judges.
struct Subject {
  const api::Pod& pod;
  base::TimePoint now;
  const RestartHistory* history = nullptr;  ///< nullptr: nobody looked before
};

/// One test of a pod. `words` says why it holds; it is called only then, and may be empty.
struct Criterion {
  std::function<bool(const Subject&)> holds;
  std::function<std::string(const Subject&)> words;
};

/// All of its criteria must hold; without any, every pod meets it. Put the cheap and telling ones first.
class Criteria {
 public:
  Criteria& add(Criterion criterion);
  bool hold_for(const Subject& subject) const;
  /// "age 3h is above 1h, exit code 137". REQUIRES: hold_for(subject).
  std::string words_for(const Subject& subject) const;

 private:
  std::vector<Criterion> all_;
};

/// Which container statuses a criterion looks at beside those of ordinary containers, and beside their present state.
struct ContainerScope {
  bool init = false;
  bool ephemeral = false;
  bool last_state = false;  ///< reasons and exit codes: how a container ended the last time counts, too
  bool includes(const api::ContainerStatus& status) const;
};

/// All fields that are set must agree with one and the same condition of the pod.
struct ConditionCriterion {
  std::string type;
  std::string status;
  std::string reason;
  std::optional<std::int64_t> min_seconds_since_transition;

  bool matches(const api::PodCondition& condition, base::TimePoint now) const;
  friend bool operator==(const ConditionCriterion&, const ConditionCriterion&) = default;
};

/// Restarts of all containers in scope together.
struct RestartCriterion {
  std::int64_t at_least = 1;
  std::optional<base::seconds> within;  ///< absent: since the pod exists
  ContainerScope containers{};
  friend bool operator==(const RestartCriterion& a, const RestartCriterion& b) {
    return a.at_least == b.at_least && a.within == b.within && a.containers.init == b.containers.init &&
           a.containers.ephemeral == b.containers.ephemeral;
  }
};

// --- the criteria. Lists that are empty are the caller's to leave out.
Criterion older_than(std::int64_t seconds);    ///< whole seconds of age above this
Criterion at_least_old(std::int64_t seconds);  ///< whole seconds of age, this or more
Criterion in_phase(std::vector<api::PodPhase> phases);
/// The pod's phase or reason, or a waiting or terminated reason of a container, is one of `states`.
Criterion in_state(std::vector<std::string> states, ContainerScope containers);
/// The same without the phase.
Criterion for_reason(std::vector<std::string> reasons, ContainerScope containers);
/// The pod's phase, or what a container waits for; why one terminated does not count.
Criterion in_phase_or_waiting(std::vector<std::string> states, ContainerScope containers);
/// A container in scope is terminated, or was the last time where that counts, with one of the codes.
Criterion with_exit_code(std::vector<std::int32_t> codes, ContainerScope containers);
Criterion in_condition(std::vector<ConditionCriterion> conditions);
Criterion restarted(RestartCriterion restarts);
/// include: some owner is of one of the kinds; exclude: none is, pods without owners pass.
Criterion owned_by(api::NamespaceFilter kinds);

// --- what they are made of
/// Whole seconds since creation, rounded down; nullopt when the creation is unknown (a dump without
/// creationTimestamp) or lies in the future.
std::optional<std::int64_t> age_in_seconds(const api::Pod& pod, base::TimePoint now);
/// Some owner is of one of the kinds.
bool has_owner_of_kind(const api::Pod& pod, const std::vector<std::string>& kinds);
/// Restarts of the containers in scope; with a window only those that are known to lie in it: all of a pod that is
/// younger than the window, what `history` saw, or else the last one when it ended inside.
std::int64_t count_restarts(const RestartCriterion& restarts, const Subject& subject);

std::vector<ConditionCriterion> read_conditions(api::StrictObject& args, std::string_view name);

}  // namespace strategies
