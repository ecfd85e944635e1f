#pragma once

/// Warnings about valid but risky settings of a policy. Pure.

#include <memory>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"

namespace controllers::validation {

/// Other objects of the cluster, as far as known.
struct ClusterContext {
  bool has_budgets = true;  ///< Whether a PodDisruptionBudget exists; true until they are known
  std::vector<std::shared_ptr<const api::DeschedulerPolicy>> policies{};  ///< May include the policy under review
};

/// Maximum number of warnings: the API server keeps 4 KiB of them.
inline constexpr std::size_t kMaxRisks = 12;

/// Returns one sentence per risk, starting with the field. `name` is the policy's name. REQUIRES: `spec` is valid.
std::vector<std::string> risks_of(const std::string& name, const api::DeschedulerPolicySpec& spec,
                                  const ClusterContext& around);

}  // namespace controllers::validation
