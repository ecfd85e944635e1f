#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
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

namespace planner {

/// Set of pods by namespace and UID. Keeps references to the vector that it is built from.
class PodSet {
 public:
  explicit PodSet(const std::vector<PodIdentity>& pods) {
    for (const PodIdentity& each : pods) pods_.try_emplace({each.uid.value, each.ns}, &each);
  }
  /// Returns nullptr if the set does not contain the pod.
  const PodIdentity* find(const api::Pod& pod) const {
    const auto at = pods_.find({pod.meta.uid, pod.meta.ns});
    return at == pods_.end() ? nullptr : at->second;
  }
  bool contains(const api::Pod& pod) const { return find(pod) != nullptr; }

 private:
  using Key = std::pair<std::string_view, std::string_view>;  // UID and namespace
  struct Hash {
    std::size_t operator()(const Key& key) const {
      const std::hash<std::string_view> hash;
      return hash(key.first) ^ (hash(key.second) << 1);
    }
  };
  std::unordered_map<Key, const PodIdentity*, Hash> pods_;
};

/// Receives the nominations of one cycle and builds the plan. Checks each nomination in this order; the first refusal
/// decides:
///   0. the cycle has used up its time (CycleTimeout, result kTotalLimit), or the namespace its share of the
///      remaining time (CycleTimeout, kNamespaceLimit);
///   1. the pod is already nominated (AlreadyNominated);
///   2. the pod stays for now: RecentlyEvacuated, Forbidden, or moved by its owner (MigrationInProgress,
///      MigrationFinished);
///   3. limits of the cycle: TotalLimit, NodeLimit, NamespaceLimit. Only 0 and 3 return a result other than kRefused;
///   4. for a pod in a PodGroup: checks of PodGroupWhatIf for the whole group, which leaves together or not at all;
///   5. its PodDisruptionBudget, with PlanOptions::spend_pdbs;
///   6. placement of its replacement, except with Compatibility::kUpstream: NowhereToGo, NowhereBetter,
///      SchedulerDisagrees. A pod of offer_anyway() leaves even if its replacement fits nowhere;
///   7. for strategies that even out load: spec.convergence.minScore (ScoreTooLow). Not checked for PodGroups.
/// An accepted move is charged to limits and budgets, leaves its node and reserves its predicted node. A refusal
/// changes only the record. Keeps references to all constructor arguments. Not thread-safe.
class PlanBuilder final : public strategies::NominationSink, public strategies::PlanSink {
 public:
  /// `nodes` contains the nodes in scope. Results are added to `plan`. Pods of `input.leaving` are off their nodes from
  /// the start.
  PlanBuilder(const PlanInput& input, const scheduling::EvictabilityRules& evictability,
              const std::vector<NodeIndex>& nodes, Plan& plan);

  /// Cluster that strategies see, with the moves so far applied. With Compatibility::kUpstream no capacity is reserved
  /// for replacements.
  const WhatIf& what_if() const { return what_if_; }
  /// Cluster in which every replacement runs where it is expected.
  const WhatIf& outcome() const { return replacements_ ? *replacements_ : what_if_; }

  /// Rules that the cluster's scheduler is assumed to follow.
  const scheduling::SchedulerRules& scheduler_rules() const { return rules_; }

  /// Starts a strategy; further offers are attributed to it. Call before its first offer. `meter` scores its moves and
  /// must outlive them; nullptr if it does not even out load.
  void begin(std::string_view strategy, BalanceMeter* meter = nullptr);
  /// Records that the strategy failed. Its earlier offers remain.
  void fail(const base::Error& error) { result_->problem = error.message; }

  NominationResult offer(PodIndex pod, std::string_view reason) override { return nominate(pod, reason, {}); }
  NominationResult offer_towards(PodIndex pod, std::string_view reason, const Goal& goal) override {
    return nominate(pod, reason, goal);
  }
  /// Offers the pod even if its replacement fits nowhere. A PodGroup still needs a node for each of its pods.
  NominationResult offer_anyway(PodIndex pod, std::string_view reason, const Goal& goal) override;
  /// Offers all of `pods` or none: accepted moves are rolled back at the first refusal. `goal` also applies to pods
  /// that already left with their PodGroup.
  NominationResult offer_whole(std::span<const PodIndex> pods, std::string_view reason, const Goal& goal) override;
  strategies::PlanSink& plan() override { return *this; }
  const strategies::PlanSink& plan() const override { return *this; }
  void begin_plan() override { whole_ = WholePlan{savepoint(), arrived_}; }
  void end_plan(bool keep) override;
  bool avoid(std::string_view key, std::span<const NodeIndex> nodes) override;
  /// Starts a wave. Nominations of earlier strategies form the first wave.
  void start_wave(std::int32_t wave) override { wave_ = wave > 0 ? waves_before_ + wave : 0; }
  std::optional<Refusal> objection(PodIndex pod) override;
  std::optional<std::int64_t> moves_left() const override { return limits_.left(); }
  /// Returns true if new pods get placement hints for the nodes named in their Evacuations.
  bool chooses_targets() const override { return input_.options.placement_hints && !input_.spec.is_upstream(); }
  void report(strategies::EmptyingReport report) override { result_->emptying = std::move(report); }
  void report(strategies::CountReport report) override { result_->counts = std::move(report); }
  void report(api::NodeClasses classes) override { result_->classes = std::move(classes); }
  std::size_t node_rows() const override { return input_.options.max_node_rows; }
  const WhatIf* expected_cluster() const override { return &outcome(); }
  std::unique_ptr<strategies::WhatIfPlacement> try_placements() const override;
  void avoid_competitors(std::string_view key, Goal may) override {
    avoided_by_ = key;
    may_avoid_ = std::move(may);
  }
  bool is_out_of_time(PodIndex pod) override;
  bool is_taint_promised(std::string_view key, NodeIndex node) const override;
  bool bears(std::string_view key, NodeIndex node) const override;
  /// Covers pods that leave alone. The refusals of a PodGroup are always recorded.
  void defer_disagreements(strategies::DisagreementHandler handler) override { on_disagreement_ = std::move(handler); }
  void refused(PodIndex pod, const Refusal& refusal) override { refuse(pod, refusal); }
  void refused_because(PodIndex pod, const Refusal& refusal, const std::function<std::string()>& details) override {
    refuse(pod, refusal, NominationResult::kRefused, details);
  }

  /// Returns true if a strategy wants the node to have the soft taint `key`, whether pledged or not.
  bool asks_for(std::string_view key, NodeIndex node) const {
    return !is_taint_promised(key, node) || asked_.contains(node);
  }

  /// Refusals of all strategies, counted and sorted by reason. Complete even if the plan contains fewer rows.
  std::vector<api::ReasonCount> refusal_counts() const;

 private:
  static constexpr std::size_t kMaxDetails = 200;
  static constexpr std::size_t kMaxTimeWarnings = 10;  ///< about namespaces
  /// Maximum sum of cost_of() over leaving pods of one namespace for whose replacements capacity is reserved.
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
  void warn_of_time(PodIndex pod);

  // One nomination.
  NominationResult nominate(PodIndex pod, std::string_view reason, const Goal& goal);
  NominationResult nominate_alone(PodIndex pod, std::string_view reason, const Goal& goal);
  NominationResult nominate_group(const PodGroups::Members& pod_group, PodIndex pod, std::string_view reason,
                                  const Goal& goal);
  std::optional<Refusal> staying(PodIndex pod);
  void accept_group(const PodGroups::Members& pod_group, const std::vector<Move>& moves, PodIndex nominated,
                    std::string_view reason);
  std::optional<double> score_of(PodIndex pod, std::optional<NodeIndex> to) const;
  Refusal no_placement(const Goal& goal, const Placement& placement) const;
  void avoid_as(const SoftTaints& before);
  void take_back(PodIndex pod, const SoftTaints& before);
  bool is_in_waves() const;
  Savepoint savepoint() const;
  void roll_back(const Savepoint& to);

  // Where pods are.
  void set_soft_taint(const scheduling::SoftTaint& taint);
  void begin_soft_taints();
  void place_leaving(const std::vector<PodIdentity>& leaving);
  void place_leaving(PodIndex pod, const PodIdentity& leaving);
  void leave(PodIndex pod);
  void arrive(PodIndex pod, NodeIndex to) { (replacements_ ? *replacements_ : what_if_).move(pod, to); }
  void restore(PodIndex pod);
  void place_from_removed(NodeIndex node);
  bool may_reserve(PodIndex pod);
  /// Returns a goal that also rejects nodes about to be removed.
  Goal sparing_removed(const Goal& goal) const;
  Placement relocate(PodIndex pod, const Goal& goal = {});
  TargetChoice target_choice(PodIndex pod) const {
    return gives_hint_to(pod) ? TargetChoice::kPlan : TargetChoice::kScheduler;
  }
  bool avoids(NodeIndex competitor);
  /// Returns true if the replacement of this pod gets a placement hint, that is, the webhook selects it.
  bool gives_hint_to(PodIndex pod) const;

  // Record.
  void record(PodIndex pod, std::optional<NodeIndex> to, std::string_view reason, std::optional<double> score);
  NominationResult refuse(PodIndex pod, const Refusal& refusal, NominationResult result = NominationResult::kRefused,
                          const std::function<std::string()>& details = {});
  std::string words_of(PodIndex pod, const Refusal& refusal, const std::function<std::string()>& details);
  std::string why_no_placement(PodIndex pod, const Goal& goal) const;
  NominationResult refuse_group_member(PodIndex pod, const PodGroupWhatIf::Reason& why);
  void count_refusal(std::string_view reason);
  bool shows_refusals() const { return plan_.refusals.size() < input_.options.max_refusals; }
  /// Value of the placement hint for the move, or "" if it gets none.
  std::string hint_for(PodIndex pod, std::optional<NodeIndex> to) const;
  api::RefusedPod row_of(PodIndex pod, std::string_view reason, std::string message) const;
  std::string name_of(NodeIndex node) const;

  const PlanInput& input_;
  const scheduling::EvictabilityRules& evictability_;
  const std::unordered_set<NodeIndex> nodes_;
  Plan& plan_;
  const ClusterSnapshot& cluster_;
  WhatIf what_if_;
  /// With Compatibility::kUpstream: cluster with replacements placed, which strategies do not see.
  std::optional<WhatIf> replacements_;
  std::span<const PodIndex> together_;   ///< pods of the current offer_whole()
  bool needs_no_node_ = false;           ///< true during offer_anyway()
  std::vector<PodIndex> moved_;          ///< parallel to plan_.moves
  std::vector<bool> arrived_;            ///< indexed by node: a replacement of this plan goes there
  std::vector<NodeIndex> pledged_;       ///< PlanOptions::pledged, sorted
  std::unordered_set<NodeIndex> asked_;  ///< pledged nodes that a strategy also wants avoided
  std::string_view avoided_by_;          ///< key of the taint for competitors that the strategy avoids on demand
  Goal may_avoid_;
  strategies::DisagreementHandler on_disagreement_;  ///< empty: disagreements are recorded
  scheduling::PdbBudgets budgets_;
  CycleLimits limits_;
  const scheduling::SchedulerRules rules_;
  TargetPredictor predictor_;
  PendingPods pending_;
  MigratingPods migrating_;
  PodGroups pod_groups_;
  /// Results of first attempts. They hold for the rest of the cycle, because the state only gets tighter.
  std::map<const PodGroups::Members*, PodGroupWhatIf::Reason> refused_pod_groups_;
  PodSet cooling_;
  std::unordered_set<std::string_view> forbidden_;
  std::unordered_set<NodeIndex> removed_;             ///< nodes about to be removed
  std::map<std::string_view, std::int32_t> refused_;  ///< keys are static text
  std::size_t details_left_ = kMaxDetails;            ///< number of refusals that may still be explained node by node
  StrategyResult* result_ = nullptr;
  std::optional<WholePlan> whole_;  ///< set between begin_plan() and end_plan()
  std::int32_t wave_ = 0;           ///< wave of the current offers
  std::int32_t waves_before_ = 0;   ///< waves of earlier strategies; moves without a wave count as one
  BalanceMeter* meter_ = nullptr;   ///< meter of the current strategy
  CycleTime time_;
  std::unordered_set<scheduling::NamespaceIndex> warned_;  ///< namespaces with a warning about their time
  bool is_end_warned_ = false;
  std::unordered_map<scheduling::NamespaceIndex, std::size_t> reserved_;  ///< reserved cost of leaving pods
};

}  // namespace planner
