#pragma once

/// From nominations to an ordered plan: one planning cycle of one policy. Pure and deterministic.

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

namespace planning {

struct PlanOptions {
  /// Refuse a pod whose PodDisruptionBudget would not allow its eviction now, after the moves before it. Off: such pods
  /// are nominated and wait for their budget: an evictor may find a way that needs none.
  bool spend_pdbs = true;
  /// Value of the soft taints that strategies may put on nodes; nullopt: they may not.
  std::optional<std::string> taint_value{};
  /// Nodes that keep their soft taint api::well_known::kLoadedTaint whatever the plan asks for: replacements of earlier
  /// moves are still to meet it. Names of no node are skipped; without taint_value all are.
  std::vector<std::string> pledged{};
  /// New pods are given the node that their Evacuation names, as a preference: the placement webhook is in force.
  bool placement_hints = false;
  /// Whose pods the webhook is not asked about (config/placement-webhook/webhook.yaml).
  std::vector<std::string> namespaces_without_hints{"kube-system", "evacuator-system"};
  /// Time since the cycle began, and whether the plan is still wanted, for strategies that search; empty: their steps
  /// alone bound them, which are the same everywhere.
  std::function<base::Duration()> elapsed{};
  std::function<bool()> is_cancelled{};
  /// Called for each pod that is judged, nominated or placed: a long plan is no hang.
  std::function<void()> heartbeat{};
  /// Once `elapsed` is beyond it, all further nominations are refused (CycleTimeout); nullopt: never.
  std::optional<base::Duration> time_limit{};
  /// Who runs the parts of a search, maybe side by side: then the two above are called by several threads. Empty: one
  /// after the other. The plan is the same, unless `elapsed` ends the search.
  strategies::Executor executor{};
  /// Told when a strategy is asked and when it has answered; empty: nobody listens. It changes nothing of the plan.
  std::function<void(std::string_view strategy, bool begins)> on_strategy{};
  /// It is made of what remains of an earlier plan after its first wave.
  bool continues_plan = false;
  std::size_t max_refusals = 200;  ///< rows of Plan::refusals; counts are always complete
  std::size_t max_node_rows = 20;  ///< rows of StrategyResult::classes; its counts are always complete
};

/// A pod as one object. A UID alone does not do: anybody may write any UID into an Evacuation of his own namespace.
struct PodIdentity {
  std::string ns;
  api::PodUid uid;
  std::string hinted{};  ///< of one that leaves: node that its replacement is given as a placement hint; "": none
};

/// REQUIRES: `spec` and `cluster` outlive the call. Nothing in the Plan refers to them.
struct PlanInput {
  const PlanSpec& spec;
  const scheduling::ClusterSnapshot& cluster;
  /// Pods with an unfinished Evacuation, whoever asked. They are taken as gone from their nodes, are not nominated
  /// again and count against no limit.
  std::vector<PodIdentity> leaving;
  base::TimePoint now;
  PlanOptions options{};
  /// Pods that stay where they are for now, such as those whose last Evacuation failed a moment ago: refused with the
  /// reason RecentlyEvacuated before any limit is counted, so that they do not use up the cycle.
  std::vector<PodIdentity> cooling{};
  /// Namespaces whose pods stay: the API server does not let us move them. Refused with the reason Forbidden, as early.
  std::vector<std::string> forbidden{};
  /// Earlier restart totals, for criteria with a time window; nullptr: nobody looked before.
  const strategies::RestartHistory* restarts = nullptr;
  /// What was measured, for the sources that StrategySpecs::usage_needs() names.
  std::vector<std::shared_ptr<const scheduling::MeasuredUsage>> usage{};
  /// The server is Kubernetes 1.`server_minor`, for a spec that names no scheduler version; nullopt: the newest that we
  /// know.
  std::optional<int> server_minor{};
  /// status.rounds of the same spec; nullopt: there is none.
  std::optional<api::RoundsStatus> rounds{};
  /// What the policy moved is over: no Evacuation is unfinished, and no replacement waits for a node.
  bool is_settled = true;
  /// Rounds may end because that takes too long. Not where people decide when pods move.
  bool may_time_out = true;
};

/// Requests on one node, before and after the plan.
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

/// A taint PreferNoSchedule that a node is to bear while the plan is carried out.
struct NodeTaint {
  std::string node;
  std::string key;       ///< of api::well_known::kSoftTaints
  std::string value;     ///< PlanOptions::taint_value
  bool is_asked = true;  ///< false: it only is among PlanOptions::pledged
  friend auto operator<=>(const NodeTaint&, const NodeTaint&) = default;
};

struct StrategyResult {
  std::string strategy;
  std::int32_t nominated = 0;
  std::int32_t refused = 0;
  std::string problem;                                   ///< why it could not judge; empty: it could
  std::optional<strategies::EmptyingReport> emptying{};  ///< of one that empties nodes
  std::optional<strategies::CountReport> counts{};       ///< of one that evens out numbers of pods
  std::optional<api::NodeClasses> classes{};             ///< of one that goes by utilization
  std::string row{};                                     ///< how rows of Plan::balance call it; "": it has none
  std::vector<NodeTaint> taints{};                       ///< of Plan::taints, those that it was the first to ask for
  friend bool operator==(const StrategyResult&, const StrategyResult&) = default;
};

struct Plan {
  std::vector<api::PlannedMove>
      moves;  ///< in the order they are to be made; `to` is a prediction, "" when nothing fits
  std::vector<api::RefusedPod> refusals;     ///< the first max_refusals
  std::vector<api::ReasonCount> refused;     ///< all of them, sorted by reason
  std::vector<StrategyResult> strategies;    ///< in the order of `moves`: the first `nominated` are of the first one
  std::vector<NodeUtilization> utilization;  ///< every node looked at, by name
  std::int32_t nodes = 0;                    ///< looked at: ready and selected
  std::int32_t pods = 0;                     ///< on them
  api::FieldErrors errors;                   ///< parts of the spec that could not be used; the rest was
  api::FieldErrors warnings;  ///< parts of the spec that do not do what they seem to, such as unknown names
  api::FieldErrors notes;     ///< parts of the spec that are strange and do no harm
  std::vector<api::BalanceRow> balance{};  ///< of balance strategies, sorted by strategy and resource; no history in it
  std::vector<NodeTaint> taints{};         ///< sorted; the policy's own soft taints that are not among them are to go
  std::optional<api::RoundsStatus> rounds{};  ///< after this cycle; nullopt: no strategy works in rounds
  std::string idle;                           ///< why no strategy was asked, also among the notes; empty: they were

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Why the policy does not look at the node; "": it does.
std::string why_not_looked_at(const PlanSpec& spec, const api::Node& node);

/// Runs the policy's strategies (all Deschedule ones, then all Balance ones, each in the order of the spec) on an
/// overlay, where pods that wait for a node hold the places where they are expected: every accepted move leaves its
/// node and holds its predicted place; per-cycle limits refuse in the order total, node, namespace; then budgets; then,
/// but not with Compatibility::kUpstream, a move whose replacement would have nowhere to go. mode, suspend and
/// in-flight limits are the controller's.
Plan plan_cycle(const PlanInput& input);

}  // namespace planning
