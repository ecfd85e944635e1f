#include "controllers/webhooks/validation/risks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "planner/strategies/catalog.hpp"

namespace controllers::validation {
namespace {

using Spec = api::DeschedulerPolicySpec;
using Risks = std::vector<std::string>;

bool acts(const Spec& spec) { return spec.mode != api::PolicyMode::kDryRun && !spec.suspend; }

/// Two policies may share nodes if their nodeSelectors are equal or one of them has none.
bool may_share_nodes(const Spec& a, const Spec& b) {
  return !a.node_selector || !b.node_selector || a.node_selector == b.node_selector;
}

bool undo_each_other(const std::string& mine, const std::string& theirs) {
  if (mine == theirs) return false;
  return !strategies::parse_strategies({{mine, "{}"}, {theirs, "{}"}}).conflicts.empty();
}

/// Strategies of other active policies, each with the first policy that uses it.
std::map<std::string, std::string> others(const std::string& name, const Spec& spec, const ClusterContext& around) {
  std::map<std::string, std::string> found;
  for (const auto& each : around.policies) {
    if (each->meta.name == name || !acts(each->spec) || !may_share_nodes(spec, each->spec)) continue;
    for (const auto& choice : each->spec.strategies) {
      auto& first = found.try_emplace(choice.name, each->meta.name).first->second;
      first = std::min(first, each->meta.name);
    }
  }
  return found;
}

void add_conflicting_policies(const std::string& name, const Spec& spec, const ClusterContext& around, Risks& risks) {
  if (!acts(spec)) return;
  const auto theirs = others(name, spec, around);
  for (std::size_t i = 0; i < spec.strategies.size(); ++i) {
    for (const auto& [strategy, policy] : theirs) {
      if (risks.size() >= kMaxRisks || !undo_each_other(spec.strategies[i].name, strategy)) continue;
      risks.push_back(
          fmt::format("spec.strategies[{}]: {} undoes the moves of {} of policy {}, unless the policies select "
                      "different nodes (spec.nodeSelector)",
                      i, spec.strategies[i].name, strategy, policy));
    }
  }
}

}  // namespace

std::vector<std::string> risks_of(const std::string& name, const Spec& spec, const ClusterContext& around) {
  Risks risks;
  const auto warn = [&](bool is_risky, const char* text) {
    if (is_risky) risks.emplace_back(text);
  };
  const bool acts_alone = spec.mode == api::PolicyMode::kAutomatic && !spec.suspend;
  const bool is_limited = spec.limits.per_cycle.total || spec.limits.in_flight.total || spec.limits.rate;
  const auto& disabled = spec.evictability.pod_protections.default_disabled;
  warn(acts_alone && !is_limited,
       "spec.limits: without perCycle.total, inFlight.total or rate, only the operator's own limits apply to the "
       "evictions of an Automatic policy");
  warn(acts_alone && !around.has_budgets,
       "spec.mode: Automatic, and the cluster has no PodDisruptionBudget: all pods of a workload may be evicted");
  warn(acts_alone && spec.circuit_breaker.failures == 0,
       "spec.circuitBreaker.failures: 0 lets the policy continue regardless of how many of its moves leave workloads "
       "without a Ready replacement");
  warn(acts(spec) && std::ranges::find(disabled, api::PodProtection::kPodsWithLocalStorage) != disabled.end(),
       "spec.evictability.podProtections.defaultDisabled: without PodsWithLocalStorage, evicted pods may lose the data "
       "in their emptyDir and hostPath volumes");
  add_conflicting_policies(name, spec, around, risks);
  return risks;
}

}  // namespace controllers::validation
