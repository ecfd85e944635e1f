#include "controllers/policy/cycle/policy_taints.hpp"

#include <utility>

#include "api/meta/well_known.hpp"
#include "api/origin.hpp"
#include "controllers/policy/waves.hpp"

namespace controllers {
namespace {

/// Whether the policy's Evacuation is unfinished and not suspended. A suspended one would keep the taint indefinitely.
bool waits_or_moves(const api::Evacuation& evacuation, const std::string& policy) {
  return api::policy_of(evacuation) == policy && !api::is_terminal(evacuation.status.phase) &&
         !evacuation.spec.suspend && !evacuation.spec.dry_run;
}

}  // namespace

/// False for mode Manual: by the time of each approval the taints may be different.
bool PolicyTaints::may_plan_with(const api::DeschedulerPolicy& policy) const {
  return taints_ != nullptr && taints_->problem(policy.meta.name).empty() &&
         policy.spec.mode != api::PolicyMode::kManual;
}

std::vector<std::string> PolicyTaints::pledged(const std::string& policy, const planner::PlanSpec& spec,
                                               base::TimePoint now) const {
  if (!spec.strategy_specs.asks_for(api::well_known::kLoadedTaint)) {
    taints_->forget_pledges(policy);
    return {};
  }
  const auto look = [&](const api::ObjectKey& key) {
    const auto seen = evacuations_.get(key);
    if (!seen) return TaintPledges::Progress::kNotSeen;
    return waits_or_moves(*seen, policy) ? TaintPledges::Progress::kUnfinished : TaintPledges::Progress::kFinished;
  };
  std::vector<api::ObjectKey> unfinished;
  for (const auto& each : evacuations_.by_index(kByPolicy, policy)) {
    const bool counts = spec.strategy_specs.asks_for(api::well_known::kLoadedTaint, each->spec.source.strategy);
    if (counts && waits_or_moves(*each, policy)) unfinished.push_back(each->meta.key());
  }
  return taints_->pledged(policy, unfinished, look, now);
}

bool PolicyTaints::place(const std::string& policy, const CycleOutcome& outcome,
                         const std::function<void()>& progress) const {
  if (taints_ == nullptr) return true;
  if (!outcome.is_judged) return taints_->keep(policy), true;
  return taints_->place(policy, outcome.taints, progress) || outcome.taints.empty();
}

void PolicyTaints::pledge(const std::string& policy, const planner::PlanSpec& spec, const CycleOutcome& outcome) const {
  if (taints_ == nullptr) return;
  TaintPledge pledge{.nodes = {}, .evacuations = {}, .made = clock_.now()};
  for (const planner::NodeTaint& taint : outcome.taints) {
    if (taint.key == api::well_known::kLoadedTaint && taint.is_asked) pledge.nodes.push_back(taint.node);
  }
  for (const api::PlannedMove& move : outcome.moves) {
    if (is_made_now(move) && spec.strategy_specs.asks_for(api::well_known::kLoadedTaint, move.strategy))
      pledge.evacuations.push_back({move.ns, api::evacuation_name(move.pod, {move.uid})});
  }
  taints_->pledge(policy, std::move(pledge));
}

void PolicyTaints::stop_emptying(const std::string& policy) const {
  if (taints_ != nullptr) taints_->drop(policy, api::well_known::kEmptyingTaint);
}

void PolicyTaints::drop(const std::string& policy) const {
  if (taints_ != nullptr) taints_->drop(policy);
}

void PolicyTaints::tell(std::vector<api::Condition>& conditions, const api::DeschedulerPolicy& policy,
                        const planner::PlanSpec& spec, base::TimePoint now) const {
  if (taints_ == nullptr) return;
  const std::string& name = policy.meta.name;
  set_soft_taints_condition(conditions, spec.strategy_specs.soft_taints(), taints_->problem(name),
                            taints_->nodes_of(name), policy.meta.generation, now);
}

}  // namespace controllers
