#pragma once

/// Settings that are valid and that few people want: warned of when a policy is written. Pure.

#include <memory>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"

namespace controllers::validation {

/// What else there is in the cluster, as far as is known.
struct Surroundings {
  bool has_budgets = true;  ///< a PodDisruptionBudget, or they are not known yet
  std::vector<std::shared_ptr<const api::DeschedulerPolicy>> policies{};  ///< may hold the one that is asked about
};

/// More are not told: the API server keeps 4 KiB of warnings.
inline constexpr std::size_t kMaxRisks = 12;

/// One sentence each, with the field first; empty: nothing stands out. `name`: of the policy. REQUIRES: `spec` is
/// valid.
std::vector<std::string> risks_of(const std::string& name, const api::DeschedulerPolicySpec& spec,
                                  const Surroundings& around);

}  // namespace controllers::validation
