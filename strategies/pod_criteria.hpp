#pragma once

/// Criteria about a pod's life that strategies combine: age, state, owner, condition, exit code. All pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core.hpp"
#include "api/strict_object.hpp"
#include "base/clock.hpp"

namespace strategies {

/// Whole seconds since creation, rounded down; nullopt when the creation lies in the future.
std::optional<std::int64_t> age_in_seconds(const api::Pod& pod, base::TimePoint now);

/// Which container statuses a criterion looks at beside those of ordinary containers.
struct ContainerScope {
  bool init = false;
  bool ephemeral = false;
  bool includes(const api::ContainerStatus& status) const;
};

/// The first of `states` that is the pod's phase, its reason, or a waiting or terminated reason of a container in
/// scope;
/// "" when none is.
std::string_view matching_state(const std::vector<std::string>& states, const api::Pod& pod, ContainerScope scope);

/// As matching_state(), without the phase.
std::string_view matching_reason(const std::vector<std::string>& reasons, const api::Pod& pod, ContainerScope scope);

/// A container in scope is terminated with one of the codes; nullopt when none is.
std::optional<std::int32_t> matching_exit_code(const std::vector<std::int32_t>& codes, const api::Pod& pod,
                                               ContainerScope scope);

/// Some owner is of one of the kinds.
bool has_owner_of_kind(const api::Pod& pod, const std::vector<std::string>& kinds);

/// All fields that are set must agree with one and the same condition of the pod.
struct ConditionCriterion {
  std::string type;
  std::string status;
  std::string reason;
  std::optional<std::int64_t> min_seconds_since_transition;

  bool matches(const api::Condition& condition, base::TimePoint now) const;
  friend bool operator==(const ConditionCriterion&, const ConditionCriterion&) = default;
};
/// The first condition of the pod that one of the criteria matches, or nullptr.
const api::Condition* matching_condition(const std::vector<ConditionCriterion>& criteria, const api::Pod& pod,
                                         base::TimePoint now);
std::vector<ConditionCriterion> read_conditions(api::StrictObject& args, std::string_view name);

}  // namespace strategies
