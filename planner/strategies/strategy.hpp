#pragma once

/// Interface of strategies. A strategy nominates pods that should run elsewhere. The sink enforces limits and budgets
/// and decides about each nomination. Strategies are pure: the same context yields the same offers in the same order.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/descheduler_policy/node_classes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "planner/scheduling/evictability_rules.hpp"
#include "planner/scheduling/scoring/scheduler_rules.hpp"
#include "planner/strategies/lifetime/restart_history.hpp"
#include "planner/strategies/scheduling_names.hpp"
#include "planner/strategies/search_budget.hpp"
#include "planner/strategies/utilization/usage_view.hpp"

namespace strategies {

class MeasuredEntriesMemo;

/// All Deschedule strategies of a policy run before any Balance strategy.
enum class StrategyPhase { kDeschedule, kBalance };

/// Result of an offer. How a strategy continues is part of its semantics (upstream-semantics.md#listing).
enum class NominationResult {
  kAccepted,        ///< the pod will leave
  kNodeLimit,       ///< no more pods of this node in this cycle
  kNamespaceLimit,  ///< no more pods of this namespace in this cycle
  kTotalLimit,      ///< no more pods in this cycle; stop
  kRefused,         ///< any other reason, such as a budget or no node for the replacement
};

/// Returns true for nodes where the pod's replacement would help.
using Goal = std::function<bool(NodeIndex node)>;

/// Receives the reason why the scheduler would put the replacement of an offered pod where that does not help.
using DisagreementHandler = std::function<void(const Refusal& refusal)>;

/// A cluster of its own on which moves are tried, with the same foresight as the sink that made it: what it says of
/// moves in one order holds for offers in that order.
class WhatIfPlacement {
 public:
  virtual ~WhatIfPlacement() = default;
  virtual const WhatIf& cluster() const = 0;
  /// Moves the pod to the node where its replacement is expected and returns that node, if `goal` accepts it. Otherwise
  /// returns nullopt and changes nothing.
  virtual std::optional<NodeIndex> relocate(PodIndex pod, const Goal& goal) = 0;
  /// Reverts relocate().
  virtual void restore(PodIndex pod) = 0;
  /// Returns a copy for the same thread.
  virtual std::unique_ptr<WhatIfPlacement> fork() const = 0;
  /// Returns a copy that another thread may use.
  virtual std::unique_ptr<WhatIfPlacement> detach() const = 0;
  /// See PlanSink::avoid().
  virtual void avoid(std::string_view key, std::span<const NodeIndex> nodes) = 0;
};

/// Human-readable result of emptying nodes.
struct EmptyingReport {
  /// A node that stays, and what holds it.
  struct Held {
    std::string node;
    std::string ns;   ///< namespace of the pod; empty if no single pod holds the node
    std::string pod;  ///< empty if no single pod holds the node
    std::string reason;
    std::string message;
    friend bool operator==(const Held&, const Held&) = default;
  };
  std::int32_t busy = 0;     ///< number of nodes with pods that do not go with their node
  std::int32_t freed = 0;    ///< number of busy nodes that are empty after the plan
  std::int32_t bound = 0;    ///< upper bound of nodes that any plan can free
  std::string bound_reason;  ///< what keeps the other nodes in use
  std::string note;          ///< why the plan does less than possible; empty if it does everything
  std::vector<Held> held;    ///< first nodes of those that stay
  friend bool operator==(const EmptyingReport&, const EmptyingReport&) = default;
};

/// How unevenly pods are distributed over the places where a strategy counts them, such as domains of topology spread
/// constraints. See UnevenCounts (uneven_counts.hpp) for the figures.
struct CountReport {
  std::string counted;  ///< kCountsByDomain or kCountsOfDuplicates
  double deviation_before = 0;
  double deviation_after = 0;  ///< after the plan
  double peak_before = 0;      ///< pods of the fullest place divided by the mean
  double peak_after = 0;
  friend bool operator==(const CountReport&, const CountReport&) = default;
};
inline constexpr std::string_view kCountsByDomain = "domains";
inline constexpr std::string_view kCountsOfDuplicates = "duplicates";

/// Part of a sink that plans ahead: plans that are kept or rolled back as a whole, waves, soft taints, and the cluster
/// that placements are predicted on. Each default is the answer of a sink that predicts nothing.
class PlanSink {
 public:
  virtual ~PlanSink() = default;

  /// Begins a plan: everything offered and avoided until end_plan() is kept or rolled back as a whole. Plans cannot be
  /// nested.
  virtual void begin_plan() {}
  /// Rolls back the plan unless `keep`; refusals stay recorded. A sink that cannot roll back ignores this call.
  virtual void end_plan([[maybe_unused]] bool keep) {}
  /// Sets the policy's soft taint `key` on `nodes`, in addition to earlier ones, so that the scheduler prefers other
  /// nodes. Affects all later offers. Returns false and changes nothing if the policy may not taint nodes.
  virtual bool avoid([[maybe_unused]] std::string_view key, [[maybe_unused]] std::span<const NodeIndex> nodes) {
    return false;
  }
  /// Assigns later offers to this wave (api::PlannedMove::wave); 0 for none.
  virtual void start_wave([[maybe_unused]] std::int32_t wave) {}
  /// Returns true if the operator chooses the nodes of replacements within an offer's goal. Returns false if the
  /// scheduler chooses, and a goal only describes what helps.
  virtual bool chooses_targets() const { return false; }
  /// Cluster after all accepted moves, with every replacement where it is expected. nullptr if the sink does not
  /// predict.
  virtual const WhatIf* expected_cluster() const { return nullptr; }
  /// Returns a what-if placement that starts from the current plan. nullptr if the sink does not predict.
  virtual std::unique_ptr<WhatIfPlacement> try_placements() const { return nullptr; }
  /// Avoids nodes on demand, until the next call or the end of the strategy: if the scheduler would put a replacement
  /// on a node that does not help and `may` accepts that node, the node is avoided as by avoid() and the offer is
  /// evaluated again. Never avoids a node that an accepted replacement goes to.
  virtual void avoid_competitors([[maybe_unused]] std::string_view key, [[maybe_unused]] Goal may) {}
  /// Returns true if the node keeps the soft taint `key` regardless of avoid(), because moves of earlier plans depend
  /// on it.
  virtual bool is_taint_promised([[maybe_unused]] std::string_view key, [[maybe_unused]] NodeIndex node) const {
    return false;
  }
  /// Returns true if the node has the policy's soft taint `key` now.
  virtual bool bears([[maybe_unused]] std::string_view key, [[maybe_unused]] NodeIndex node) const { return false; }
  /// Passes the reason to `handler` instead of recording it when an offer is refused with SchedulerDisagrees, until the
  /// next call or the end of the strategy. The strategy must report the reason with refused() or offer the pod again.
  /// An empty handler restores recording. A sink that predicts no placements ignores the call.
  virtual void defer_disagreements([[maybe_unused]] DisagreementHandler handler) {}
};

/// Receives nominations one at a time and decides immediately.
class NominationSink {
 public:
  virtual ~NominationSink() = default;

  /// Returns the part of the sink that plans ahead. The default one predicts nothing.
  virtual PlanSink& plan();
  virtual const PlanSink& plan() const;

  /// Proposes that `pod` leaves. `reason` is human-readable.
  virtual NominationResult offer(PodIndex pod, std::string_view reason) = 0;
  /// Proposes a move that helps only if `goal` accepts the node of the replacement. A sink that predicts placements
  /// refuses other placements; a sink that does not treats it like offer().
  virtual NominationResult offer_towards(PodIndex pod, std::string_view reason, [[maybe_unused]] const Goal& goal) {
    return offer(pod, reason);
  }
  /// Like offer_towards(), but the pod leaves even if its replacement fits no node, because more nodes are expected. A
  /// sink that predicts placements refuses the offer only if the scheduler would put the replacement on a node that
  /// does not help.
  virtual NominationResult offer_anyway(PodIndex pod, std::string_view reason, const Goal& goal) {
    return offer_towards(pod, reason, goal);
  }
  /// Proposes that all pods leave or none. Returns the first result other than kAccepted for all. A sink that cannot
  /// roll back stops at that pod.
  virtual NominationResult offer_whole(std::span<const PodIndex> pods, std::string_view reason, const Goal& goal) {
    for (const PodIndex pod : pods) {
      if (const NominationResult result = offer_towards(pod, reason, goal); result != NominationResult::kAccepted)
        return result;
    }
    return NominationResult::kAccepted;
  }
  /// Returns why any offer of the pod would be refused, or nullopt if that depends on its placement. Records nothing.
  virtual std::optional<Refusal> objection([[maybe_unused]] PodIndex pod) { return std::nullopt; }
  /// Returns true if the cycle has no time left for pods of this namespace, so that an offer of the pod would be
  /// refused. Strategies must call it before they work on a pod; the time until the next call of the sink is charged to
  /// the pod's namespace. Each call is also a heartbeat.
  virtual bool is_out_of_time([[maybe_unused]] PodIndex pod) { return false; }
  /// Number of pods that may still leave in this cycle, or nullopt if there is no limit.
  virtual std::optional<std::int64_t> moves_left() const { return std::nullopt; }
  virtual void report([[maybe_unused]] EmptyingReport report) {}
  virtual void report([[maybe_unused]] CountReport report) {}
  virtual void report([[maybe_unused]] api::NodeClasses classes) {}
  /// Maximum number of nodes in a report of node classes.
  virtual std::size_t node_rows() const { return 0; }
  /// Reports a pod that meets the strategy's criteria but is protected. For the record only.
  virtual void refused(PodIndex pod, const Refusal& refusal) = 0;
  /// Like refused(), with details. `details` is called only if the refusal is shown; "" adds nothing.
  virtual void refused_because(PodIndex pod, const Refusal& refusal,
                               [[maybe_unused]] const std::function<std::string()>& details) {
    refused(pod, refusal);
  }
};

inline const PlanSink& NominationSink::plan() const {
  static const PlanSink none;
  return none;
}
inline PlanSink& NominationSink::plan() {
  static PlanSink none;
  return none;
}

struct StrategyContext {
  /// Cluster after all moves accepted so far, including this strategy's own offers if the sink applies them. Pods that
  /// are already leaving are off their nodes.
  const WhatIf& cluster;
  std::span<const NodeIndex> nodes;  ///< nodes in scope, in order
  const scheduling::EvictabilityRules& evictability;
  base::TimePoint now;
  const UsageView* usage = nullptr;          ///< measured usage; nullptr to use requests
  const RestartHistory* restarts = nullptr;  ///< earlier restart totals; nullptr if there is no restart history
  /// Measurements, one entry per needed source, distinguished by MeasuredUsage::source.
  std::span<const std::shared_ptr<const MeasuredUsage>> measured{};
  /// Time since the cycle began. If empty, only steps bound a search. With an executor it is called by several threads.
  std::function<base::Duration()> elapsed{};
  /// Returns true if the result is no longer needed. May be empty. Called by the same threads as `elapsed`.
  std::function<bool()> is_cancelled{};
  /// The plan continues an earlier one after its first wave, so whether a plan is worthwhile was decided then.
  bool continues_plan = false;
  /// Cache of lookups in `measured` shared by strategies. If nullptr, each strategy does its own lookups.
  MeasuredEntriesMemo* measured_entries = nullptr;
  /// Rules that the cluster's scheduler is assumed to follow.
  scheduling::SchedulerRules scheduler{};
  /// State of a MultiCycle strategy in this cycle; empty for other strategies.
  std::string_view state{};
  /// Runs independent parts of a search.
  Executor executor{};
  /// BalanceSubject::means from balances(), valid while no pod has been moved since. If nullptr, strategies compute
  /// them on demand.
  std::shared_ptr<const UsageView> means{};

  /// Returns true if decisions must equal those of upstream's descheduler, including its faults.
  bool is_upstream() const { return evictability.is_upstream(); }
};

/// Quantity that a balance strategy evens out, so that its gain can be measured.
struct BalanceSubject {
  /// Nodes that are balanced among themselves.
  struct Pool {
    std::vector<NodeIndex> nodes;
    /// Percentage per resource up to which nodes are filled, so that only load above it counts. If empty, all load
    /// counts.
    std::vector<double> packed_to{};
    /// Percentages per resource: nodes at or below all of them are emptied, so that only pods on them count. If empty,
    /// no nodes are emptied.
    std::vector<double> emptied_up_to{};
  };
  std::vector<std::string> resources;
  std::vector<Pool> pools;
  std::shared_ptr<const UsageView> usage;  ///< refers to the context
  std::shared_ptr<const UsageView> means;  ///< typical usage of pods, and of nodes at that usage; nullptr if unknown
  bool by_load = false;  ///< by measured load, which the scheduler does not see; otherwise by requests
};

/// Inputs and side effects of a strategy beyond the snapshot. The default needs nothing.
struct StrategyNeeds {
  /// Time window in which the strategy counts restarts, for which a restart history must be kept.
  std::optional<base::seconds> restart_window{};
  std::vector<UsageNeed> usage{};  ///< measurements that it decides by; empty if it uses requests
  std::string_view soft_taint{};   ///< key of the soft taints that it sets (PlanSink::avoid()), or ""
};

/// Observations of one cycle by which a MultiCycle strategy continues.
struct CycleFacts {
  std::int32_t nodes = 0;         ///< number of nodes in scope
  std::int32_t nodes_in_use = 0;  ///< nodes in scope with pods other than DaemonSet and mirror pods
  double imbalance = 0;      ///< of the nodes in use, in points of the most uneven resource; 0 if nothing is balanced
  bool is_settled = true;    ///< the moves of earlier cycles are complete
  bool may_time_out = true;  ///< false if users decide when pods move
  base::TimePoint now{};
};

/// Optional interface of a Strategy whose plan takes several cycles, each of which waits until the moves of the last
/// one are complete. Its state is a JSON object as text, with the strategy's name as `strategy`; only the strategy
/// reads the rest. It is kept as status.rounds of the policy, whose writers are trusted no more than other input:
/// unreadable state starts over.
class MultiCycle {
 public:
  /// Part of the state that decides about the next cycle.
  struct Progress {
    bool is_over = false;     ///< stopped until the cluster changes
    bool is_waiting = false;  ///< for moves of earlier cycles
    std::int32_t planned = 0;
    std::optional<base::TimePoint> planned_at{};  ///< start of the last cycle that planned moves
    bool runs_in_cycle() const { return !is_over && !is_waiting; }
  };
  /// Content of condition Converged.
  struct Report {
    bool is_converged = false;
    std::string reason;
    std::string message;
  };

  virtual ~MultiCycle() = default;
  /// Returns the state at the start of a cycle. `before` is the state after the last cycle of the same spec, or "".
  virtual std::string begin_cycle(const std::string& before, const CycleFacts& facts) const = 0;
  /// Returns the state after nominate() had nothing to move, in the same cycle.
  virtual std::string after_idle(const std::string& state, const CycleFacts& facts) const = 0;
  /// Returns the state after nominate() made `planned` moves.
  virtual std::string after_planning(const std::string& state, std::int32_t planned) const = 0;
  /// Returns the state after Evacuations were created for `created` of the moves planned by the cycle.
  virtual std::string after_creating(const std::string& state, std::int32_t created, base::TimePoint cycle) const = 0;
  /// Returns nullopt if the state is unreadable.
  virtual std::optional<Progress> progress(const std::string& state) const = 0;
  /// Describes the progress, or returns nullopt if the state is unreadable. `active`: number of unfinished Evacuations
  /// of the policy.
  virtual std::optional<Report> report(const std::string& state, std::int32_t active) const = 0;
};

/// Chooses pods.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  virtual StrategyPhase phase() const = 0;
  /// Nominates pods. An error means that the strategy could not decide (missing usage data); its earlier offers remain.
  virtual base::Status nominate(const StrategyContext& context, NominationSink& sink) const = 0;
  virtual StrategyNeeds needs() const { return {}; }
  /// Human-readable warning about unexpected effects of the arguments, or "".
  virtual std::string caution([[maybe_unused]] bool is_upstream) const { return {}; }
  /// Returns what a strategy that evens out load balances, or nullopt if it evens out none or cannot determine it.
  virtual std::optional<BalanceSubject> balances([[maybe_unused]] const StrategyContext& context) const { return {}; }
};

/// Strategy given by its arguments (docs/strategies/writing-one.md). S has kName, kPhase, a static read(), which adds
/// errors to those of the object that it reads, and nominate(). Other members of Strategy are optional.
template <typename S>
class StrategyOf final : public Strategy {
 public:
  explicit StrategyOf(S strategy) : strategy_(std::move(strategy)) {}
  std::string_view name() const override { return S::kName; }
  StrategyPhase phase() const override { return S::kPhase; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override {
    return strategy_.nominate(context, sink);
  }
  StrategyNeeds needs() const override {
    if constexpr (requires(const S& strategy) { strategy.needs(); }) return strategy_.needs();
    return {};
  }
  std::string caution(bool is_upstream) const override {
    if constexpr (requires(const S& strategy) { strategy.caution(true); }) return strategy_.caution(is_upstream);
    return Strategy::caution(is_upstream);
  }
  std::optional<BalanceSubject> balances(const StrategyContext& context) const override {
    if constexpr (requires(const S& strategy) { strategy.balances(context); }) return strategy_.balances(context);
    return Strategy::balances(context);
  }

 private:
  S strategy_;
};

}  // namespace strategies
