#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.hpp"
#include "planner/plan/balance/balance_meter.hpp"
#include "planner/plan/cycle_limits.hpp"
#include "planner/plan/migrating.hpp"
#include "planner/plan/planned_placement.hpp"
#include "planner/plan/planner.hpp"
#include "planner/plan/pod_groups.hpp"
#include "planner/plan/target.hpp"
#include "planner/scheduling/evictability_rules.hpp"
#include "planner/scheduling/pdb_budget.hpp"
#include "planner/scheduling/what_if.hpp"
#include "planner/strategies/strategy.hpp"

namespace planning {

/// Pods by namespace and UID. Keeps references to what it is made of.
class PodSet {
 public:
  explicit PodSet(const std::vector<PodIdentity>& pods) {
    for (const PodIdentity& each : pods) by_uid_[each.uid.value].push_back(&each);
  }
  /// nullptr: it is none of them.
  const PodIdentity* find(const api::Pod& pod) const {
    const auto at = by_uid_.find(pod.meta.uid);
    if (at == by_uid_.end()) return nullptr;
    const auto found = std::ranges::find(at->second, pod.meta.ns, &PodIdentity::ns);
    return found == at->second.end() ? nullptr : *found;
  }
  bool contains(const api::Pod& pod) const { return find(pod) != nullptr; }

 private:
  std::unordered_map<std::string_view, std::vector<const PodIdentity*>> by_uid_;
};

/// Takes the nominations of one cycle and makes the plan of them. A nomination is checked in this order; the first
/// objection refuses it:
///   0. the cycle has used up its time (CycleTimeout, with the result kTotalLimit), or the pod's namespace its share of
///      a time that gets short (CycleTimeout, kNamespaceLimit);
///   1. the pod is nominated already (AlreadyNominated);
///   2. it stays for now: cooling down (RecentlyEvacuated), Forbidden, moved by its owner (MigrationInProgress,
///      MigrationFinished);
///   3. the cycle's limits: TotalLimit, NodeLimit, NamespaceLimit. Only these and 0 give a result other than kRefused;
///   4. of a pod in a PodGroup: what PodGroupWhatIf finds for the whole group, which leaves together or not at all;
///   5. its PodDisruptionBudget, with PlanOptions::spend_pdbs;
///   6. the placement of its replacement, but not with Compatibility::kUpstream: NowhereToGo, NowhereBetter,
///      SchedulerDisagrees. A pod of offer_anyway() leaves if its replacement fits nowhere;
///   7. of a strategy that evens out load: spec.convergence.minScore (ScoreTooLow). A PodGroup is not asked.
/// An accepted move counts against limits and budgets, leaves its node and holds its predicted place. A refused one
/// changes nothing but the record. Keeps references to everything it is made of. One thread.
class PlanBuilder final : public strategies::NominationSink {
 public:
  /// `nodes`: those that the policy looks at. Adds its rows to `plan`. `input.leaving` is off its nodes from the start.
  PlanBuilder(const PlanInput& input, const scheduling::EvictabilityRules& evictability,
              const std::vector<scheduling::NodeIndex>& nodes, Plan& plan);

  /// What strategies see: the cluster after the moves so far. With Compatibility::kUpstream nothing is reserved for
  /// replacements.
  const scheduling::WhatIf& what_if() const { return what_if_; }
  /// The cluster once every replacement runs where it is expected.
  const scheduling::WhatIf& outcome() const { return replacements_ ? *replacements_ : what_if_; }

  /// How the cluster's scheduler is taken to choose.
  const scheduling::SchedulerRules& scheduler_rules() const { return rules_; }

  /// What is offered from here on is the strategy's. REQUIRES: called before the first offer. `meter`: scores its moves
  /// and outlives them; nullptr: it evens out no load.
  void begin(std::string_view strategy, BalanceMeter* meter = nullptr);
  /// The strategy could not judge. What it offered before stands.
  void fail(const base::Error& error) { result_->problem = error.message; }

  /// Any placement will do.
  strategies::NominationResult offer(scheduling::PodIndex pod, std::string_view reason) override;
  /// Only a placement that `goal` accepts.
  strategies::NominationResult offer_towards(scheduling::PodIndex pod, std::string_view reason,
                                             const strategies::Goal& goal) override;
  /// A PodGroup still needs a node for each of its pods.
  strategies::NominationResult offer_anyway(scheduling::PodIndex pod, std::string_view reason,
                                            const strategies::Goal& goal) override;
  /// All of `pods`, or none: what was accepted before an objection is taken back. A pod that left with its PodGroup
  /// already has to be where `goal` accepts, too.
  strategies::NominationResult offer_whole(std::span<const scheduling::PodIndex> pods, std::string_view reason,
                                           const strategies::Goal& goal) override;
  void begin_plan() override;
  void end_plan(bool keep) override;
  bool avoid(std::string_view key, std::span<const scheduling::NodeIndex> nodes) override;
  /// What other strategies nominated before is the first wave.
  void start_wave(std::int32_t wave) override { wave_ = wave > 0 ? waves_before_ + wave : 0; }
  std::optional<scheduling::Refusal> objection(scheduling::PodIndex pod) override;
  std::optional<std::int64_t> moves_left() const override { return limits_.left(); }
  bool chooses_targets() const override { return gives_hints(); }
  void report(strategies::EmptyingReport report) override { result_->emptying = std::move(report); }
  void report(strategies::CountReport report) override { result_->counts = std::move(report); }
  void report(api::NodeClasses classes) override { result_->classes = std::move(classes); }
  std::size_t node_rows() const override { return input_.options.max_node_rows; }
  const scheduling::WhatIf* expected_cluster() const override { return &outcome(); }
  std::unique_ptr<strategies::WhatIfPlacement> try_placements() const override;
  void avoid_competitors(std::string_view key, strategies::Goal may) override;
  bool is_out_of_time(scheduling::PodIndex pod) override;
  bool is_pledged(std::string_view key, scheduling::NodeIndex node) const override;
  bool bears(std::string_view key, scheduling::NodeIndex node) const override;
  /// Covers pods that leave alone. The refusals of a PodGroup are always recorded.
  void defer_disagreements(strategies::DisagreementHandler handler) override { on_disagreement_ = std::move(handler); }
  void refused(scheduling::PodIndex pod, const scheduling::Refusal& refusal) override;
  void refused_because(scheduling::PodIndex pod, const scheduling::Refusal& refusal,
                       const std::function<std::string()>& details) override;

  /// A strategy wants the node to bear the soft taint `key`, pledged or not.
  bool asks_for(std::string_view key, scheduling::NodeIndex node) const;

  /// Refusals of all strategies by reason, sorted; complete, however many rows the plan keeps.
  std::vector<api::ReasonCount> refusal_counts() const;

 private:
  static constexpr std::size_t kMaxDetails = 200;
  static constexpr std::size_t kMaxTimeWarnings = 10;  ///< about namespaces
  /// Sum of cost_of() over pods of one namespace that leave already and whose replacements hold a place.
  static constexpr std::size_t kMaxReservedCost = 10'000;

  using Move = PodGroupWhatIf::Move;
  using SoftTaints = std::vector<scheduling::SoftTaint>;
  struct Savepoint {
    CycleLimits limits;
    scheduling::PdbBudgets budgets;
    std::size_t moves;
    std::int32_t nominated;
    SoftTaints avoided;
  };
  struct WholePlan {
    Savepoint begin;
    std::vector<bool> arrived;
  };

  void beat() const {
    if (input_.options.heartbeat) input_.options.heartbeat();
  }
  void warn_of_time(scheduling::PodIndex pod);

  // One nomination.
  strategies::NominationResult nominate(scheduling::PodIndex pod, std::string_view reason,
                                        const strategies::Goal& goal);
  strategies::NominationResult nominate_alone(scheduling::PodIndex pod, std::string_view reason,
                                              const strategies::Goal& goal);
  strategies::NominationResult nominate_group(const PodGroups::Members& pod_group, scheduling::PodIndex pod,
                                              std::string_view reason, const strategies::Goal& goal);
  std::optional<scheduling::Refusal> staying(scheduling::PodIndex pod);
  void accept_group(const PodGroups::Members& pod_group, const std::vector<Move>& moves, scheduling::PodIndex nominated,
                    std::string_view reason);
  std::optional<double> score_of(scheduling::PodIndex pod, std::optional<scheduling::NodeIndex> to) const;
  scheduling::Refusal no_placement(const strategies::Goal& goal, const Placement& placement) const;
  void avoid_as(const SoftTaints& before);
  void take_back(scheduling::PodIndex pod, const SoftTaints& before);
  bool is_in_waves() const;
  Savepoint savepoint() const;
  void roll_back(const Savepoint& to);

  // Where pods are.
  void set_soft_taint(const scheduling::SoftTaint& taint);
  void begin_soft_taints();
  void take_off_leaving(const std::vector<PodIdentity>& leaving);
  void take_off_leaving(scheduling::PodIndex pod, const PodIdentity& leaving);
  void leave(scheduling::PodIndex pod);
  void arrive(scheduling::PodIndex pod, scheduling::NodeIndex to);
  void restore(scheduling::PodIndex pod);
  void take_off_removed(scheduling::NodeIndex node);
  bool may_reserve(scheduling::PodIndex pod);
  /// The same, but never a node that somebody is about to remove.
  strategies::Goal sparing_removed(const strategies::Goal& goal) const;
  Placement relocate(scheduling::PodIndex pod, const strategies::Goal& goal = {});
  TargetChoice target_choice(scheduling::PodIndex pod) const;
  bool avoids(scheduling::NodeIndex competitor);
  /// New pods are given the nodes that their Evacuations name.
  bool gives_hints() const;
  /// That one's is: the webhook is asked about it.
  bool gives_hint_to(scheduling::PodIndex pod) const;

  // The record.
  void record(scheduling::PodIndex pod, std::optional<scheduling::NodeIndex> to, std::string_view reason,
              std::optional<double> score);
  strategies::NominationResult refuse(scheduling::PodIndex pod, const scheduling::Refusal& refusal,
                                      strategies::NominationResult result = strategies::NominationResult::kRefused,
                                      const std::function<std::string()>& details = {});
  std::string words_of(scheduling::PodIndex pod, const scheduling::Refusal& refusal,
                       const std::function<std::string()>& details);
  std::string why_no_placement(scheduling::PodIndex pod, const strategies::Goal& goal) const;
  strategies::NominationResult refuse_group_member(scheduling::PodIndex pod, const PodGroupWhatIf::Reason& why);
  void count_refusal(std::string_view reason);
  bool shows_refusals() const { return plan_.refusals.size() < input_.options.max_refusals; }
  /// Policy of the placement hint for that move; "": it gets none.
  std::string hint_for(scheduling::PodIndex pod, std::optional<scheduling::NodeIndex> to) const;
  api::RefusedPod row_of(scheduling::PodIndex pod, std::string_view reason, std::string message) const;
  std::string name_of(scheduling::NodeIndex node) const;

  const PlanInput& input_;
  const scheduling::EvictabilityRules& evictability_;
  const std::unordered_set<scheduling::NodeIndex> nodes_;
  Plan& plan_;
  const scheduling::ClusterSnapshot& cluster_;
  scheduling::WhatIf what_if_;
  /// With Compatibility::kUpstream: where replacements are placed, which the strategies do not see.
  std::optional<scheduling::WhatIf> replacements_;
  std::span<const scheduling::PodIndex> together_;   ///< of the offer_whole() under way
  bool needs_no_node_ = false;                       ///< during offer_anyway()
  std::vector<scheduling::PodIndex> moved_;          ///< one for each of plan_.moves
  std::vector<bool> arrived_;                        ///< by node: a replacement of this plan goes there
  std::vector<scheduling::NodeIndex> pledged_;       ///< PlanOptions::pledged, sorted
  std::unordered_set<scheduling::NodeIndex> asked_;  ///< of these, those that a strategy wants avoided, too
  std::string_view avoided_by_;                      ///< the key of what the strategy avoids as the need arises
  strategies::Goal may_avoid_;
  strategies::DisagreementHandler on_disagreement_;  ///< empty: disagreements are recorded
  scheduling::PdbBudgets budgets_;
  CycleLimits limits_;
  const scheduling::SchedulerRules rules_;
  TargetPredictor predictor_;
  PendingPods pending_;
  MigratingPods migrating_;
  PodGroups pod_groups_;
  /// What the first try found holds for the rest of the cycle: it only gets tighter.
  std::map<const PodGroups::Members*, PodGroupWhatIf::Reason> refused_pod_groups_;
  PodSet cooling_;
  std::unordered_set<std::string_view> forbidden_;
  std::unordered_set<scheduling::NodeIndex> removed_;  ///< nodes that somebody is about to remove
  std::map<std::string_view, std::int32_t> refused_;   ///< reasons are static text
  std::size_t details_left_ = kMaxDetails;             ///< refusals that may still be explained node by node
  StrategyResult* result_ = nullptr;
  std::optional<WholePlan> whole_;  ///< between begin_plan() and end_plan()
  std::int32_t wave_ = 0;           ///< of what is offered
  std::int32_t waves_before_ = 0;   ///< of the strategies before; what they planned without counts as one
  BalanceMeter* meter_ = nullptr;   ///< of the strategy that is asked
  CycleTime time_;
  std::unordered_set<scheduling::NamespaceIndex> warned_;  ///< whose time is over
  bool is_end_warned_ = false;
  std::unordered_map<scheduling::NamespaceIndex, std::size_t> reserved_;  ///< cost of what leaves already
};

}  // namespace planning
