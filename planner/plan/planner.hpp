#pragma once

/// Plans one cycle of one policy: turns nominations into an ordered plan. Pure and deterministic.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/json/field_path.hpp"
#include "base/clock.hpp"
#include "planner/plan/plan_spec.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/measured_usage.hpp"
#include "planner/strategies/lifetime/restart_history.hpp"
#include "planner/strategies/strategy.hpp"

namespace planner {

struct PlanOptions {
  /// Refuse a pod whose PodDisruptionBudget would not allow its eviction now, after the moves before it. If false, such
  /// pods are nominated and wait for their budget, because an evictor may not need one.
  bool spend_pdbs = true;
  /// Value of the soft taints that strategies may set. With nullopt they may set none.
  std::optional<std::string> taint_value{};
  /// Nodes that keep their soft taint api::well_known::kLoadedTaint whatever the plan wants, because replacements of
  /// earlier moves must still respect it. Unknown node names are skipped; ignored without taint_value.
  std::vector<std::string> pledged{};
  /// The placement webhook is active: new pods prefer the node named in their Evacuation.
  bool placement_hints = false;
  /// Namespaces excluded from the webhook (config/placement-webhook/webhook.yaml).
  std::vector<std::string> namespaces_without_hints{"kube-system", "evacuator-system"};
  /// Time since the cycle began, and whether the plan was cancelled; for strategies that search. If empty, only step
  /// limits, which are the same everywhere, bound a search.
  std::function<base::Duration()> elapsed{};
  std::function<bool()> is_cancelled{};
  /// Heartbeat, called for each pod that is judged, nominated or placed, so that a long plan is not taken for a hang.
  std::function<void()> heartbeat{};
  /// Once `elapsed` exceeds this limit, all further nominations are refused (CycleTimeout). nullopt means no limit.
  std::optional<base::Duration> time_limit{};
  /// Runs the parts of a search, possibly concurrently; `elapsed` and `is_cancelled` are then called by several
  /// threads. If empty, parts run sequentially. The plan is the same unless `elapsed` ends the search.
  strategies::Executor executor{};
  /// Called before and after each strategy. May be empty. Does not affect the plan.
  std::function<void(std::string_view strategy, bool begins)> on_strategy{};
  /// The plan continues an earlier plan whose first wave has been carried out.
  bool continues_plan = false;
  std::size_t max_refusals = 200;  ///< maximum rows of Plan::refusals; counts are always complete
  std::size_t max_node_rows = 20;  ///< maximum rows of StrategyResult::classes; counts are always complete
};

/// Identifies one pod object. A UID alone is not enough, because users can write any UID into an Evacuation of their
/// own namespace.
struct PodIdentity {
  std::string ns;
  api::PodUid uid;
  std::string hinted{};  ///< for a leaving pod: node of its replacement's placement hint, or ""
};

/// Input of one planning cycle. REQUIRES: `spec` and `cluster` outlive the call. The Plan does not refer to them.
struct PlanInput {
  const PlanSpec& spec;
  const scheduling::ClusterSnapshot& cluster;
  /// Pods with an unfinished Evacuation, regardless of its creator. They are treated as gone from their nodes, are not
  /// nominated again and count against no limit.
  std::vector<PodIdentity> leaving;
  base::TimePoint now;
  PlanOptions options{};
  /// Pods that stay for now, for example because their last Evacuation just failed. Refused as RecentlyEvacuated before
  /// limits are checked, so that they do not use up the cycle.
  std::vector<PodIdentity> cooling{};
  /// Namespaces in which the API server forbids moving pods. Refused as Forbidden, before limits are checked.
  std::vector<std::string> forbidden{};
  /// Earlier restart totals, for criteria with a time window. nullptr if there is no restart history.
  const strategies::RestartHistory* restarts = nullptr;
  /// Measured usage of the sources that StrategySpecs::usage_needs() names.
  std::vector<std::shared_ptr<const scheduling::MeasuredUsage>> usage{};
  /// The server's version is Kubernetes 1.`server_minor`; used if the spec names no scheduler version. nullopt selects
  /// the newest known version.
  std::optional<int> server_minor{};
  /// status.rounds of the same spec, if any.
  std::optional<api::StrategyState> strategy_state{};
  /// Earlier moves of the policy are complete: no Evacuation is unfinished and no replacement waits for a node.
  bool is_settled = true;
  /// A MultiCycle strategy may stop waiting by timeout. False if users decide when pods move.
  bool may_time_out = true;
};

/// Requests on one node before and after the plan.
struct NodeUtilization {
  struct Amount {
    api::Quantity allocatable;
    api::Quantity before;
    api::Quantity after;
    friend bool operator==(const Amount&, const Amount&) = default;
  };
  std::string node;
  Amount cpu;
  Amount memory;
  Amount pods;
  friend bool operator==(const NodeUtilization&, const NodeUtilization&) = default;
};

/// A PreferNoSchedule taint that a node should have while the plan is carried out.
struct NodeTaint {
  std::string node;
  std::string key;       ///< one of api::well_known::kSoftTaints
  std::string value;     ///< PlanOptions::taint_value
  bool is_asked = true;  ///< false if the node is only in PlanOptions::pledged
  friend auto operator<=>(const NodeTaint&, const NodeTaint&) = default;
};

struct StrategyResult {
  std::string strategy;
  std::int32_t nominated = 0;
  std::int32_t refused = 0;
  std::string problem;                                   ///< why the strategy failed; empty if it ran
  std::optional<strategies::EmptyingReport> emptying{};  ///< of strategies that empty nodes
  std::optional<strategies::CountReport> counts{};       ///< of strategies that even out numbers of pods
  std::optional<api::NodeClasses> classes{};             ///< of strategies that go by utilization
  std::string row{};                                     ///< name in rows of Plan::balance; empty if it has none
  std::vector<NodeTaint> taints{};  ///< part of Plan::taints that this strategy was the first to request
  friend bool operator==(const StrategyResult&, const StrategyResult&) = default;
};

struct Plan {
  std::vector<api::PlannedMove> moves;    ///< in order of execution; `to` is a prediction, "" if no node fits
  std::vector<api::RefusedPod> refusals;  ///< the first max_refusals
  std::vector<api::ReasonCount> refused;  ///< all refusals, counted and sorted by reason
  /// In the order of `moves`: the first `nominated` moves belong to the first strategy.
  std::vector<StrategyResult> strategies;
  std::vector<NodeUtilization> utilization;  ///< all nodes in scope, by name
  std::int32_t nodes = 0;                    ///< number of nodes in scope: ready and selected
  std::int32_t pods = 0;                     ///< number of pods on the nodes in scope
  api::FieldErrors errors;                   ///< parts of the spec that could not be used; the rest was used
  api::FieldErrors warnings;  ///< parts of the spec that probably do not do what is intended, such as unknown names
  api::FieldErrors notes;     ///< parts of the spec that are suspicious but harmless
  std::vector<api::BalanceRow> balance{};  ///< of balance strategies, sorted by strategy and resource, without history
  std::vector<NodeTaint> taints{};         ///< sorted; other soft taints of the policy must be removed
  std::optional<api::StrategyState> strategy_state{};  ///< after this cycle; nullopt without a MultiCycle strategy
  std::string idle;  ///< why no strategy ran, also in `notes`; empty if strategies ran

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Returns why the node is out of the policy's scope, or "" if it is in scope.
std::string why_out_of_scope(const PlanSpec& spec, const api::Node& node);

/// Plans one cycle. Runs the policy's strategies on a WhatIf: first all Deschedule strategies, then all Balance
/// strategies, each in the order of the spec. Pending pods hold the capacity where they are expected. Every accepted
/// move leaves its node and reserves its predicted node. Moves are refused by per-cycle limits in the order total,
/// node, namespace, then by budgets, then, except with Compatibility::kUpstream, if the replacement has nowhere to go.
/// The controller handles mode, suspend and in-flight limits.
Plan plan_cycle(const PlanInput& input);

}  // namespace planner
