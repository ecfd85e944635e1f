#pragma once

/// A strategy says which pods would be better off elsewhere. It only nominates: limits, budgets and what becomes of a
/// nomination are the sink's business. Strategies are pure: same context, same offers in the same order.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/descheduler_policy/node_classes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "planner/scheduling/evictability_rules.hpp"
#include "planner/scheduling/scoring/scheduler_rules.hpp"
#include "planner/scheduling/what_if.hpp"
#include "planner/snapshot/measured_usage.hpp"
#include "planner/strategies/lifetime/restart_history.hpp"
#include "planner/strategies/search_budget.hpp"
#include "planner/strategies/utilization/usage_view.hpp"

namespace strategies {

class MeasuredEntriesMemo;

using scheduling::NodeIndex;
using scheduling::PodIndex;

/// All Deschedule strategies of a policy run before any Balance strategy.
enum class StrategyPhase { kDeschedule, kBalance };

/// What became of an offer. How a strategy goes on is part of its semantics (upstream-semantics.md#listing).
enum class NominationResult {
  kAccepted,        ///< the pod will leave
  kNodeLimit,       ///< no more pods of this node in this cycle
  kNamespaceLimit,  ///< no more pods of this namespace in this cycle
  kTotalLimit,      ///< no more pods in this cycle: stop
  kRefused,         ///< anything else: a budget, nowhere to go
};

/// True for the nodes where the pod's replacement would help.
using Goal = std::function<bool(NodeIndex node)>;

/// Receives the reason why the scheduler would put the replacement of an offered pod where that does not help.
using DisagreementHandler = std::function<void(const scheduling::Refusal& refusal)>;

/// A cluster of its own on which moves are tried, with the same foresight as the sink that made it: what it says of
/// moves in one order holds for offers in that order.
class WhatIfPlacement {
 public:
  virtual ~WhatIfPlacement() = default;
  virtual const scheduling::WhatIf& cluster() const = 0;
  /// Moves the pod to where its replacement is expected, if `goal` accepts that, and says where. nullopt: nothing
  /// happened.
  virtual std::optional<NodeIndex> relocate(PodIndex pod, const Goal& goal) = 0;
  /// Takes that back.
  virtual void restore(PodIndex pod) = 0;
  /// Another one like this one, for the same thread.
  virtual std::unique_ptr<WhatIfPlacement> fork() const = 0;
  /// The same for any other thread.
  virtual std::unique_ptr<WhatIfPlacement> detach() const = 0;
  /// As NominationSink::avoid().
  virtual void avoid(std::string_view key, std::span<const NodeIndex> nodes) = 0;
};

/// What became of emptying nodes, for people.
struct EmptyingReport {
  /// A node that stays, and what keeps it.
  struct Held {
    std::string node;
    std::string ns;   ///< of the pod; "": no single pod does
    std::string pod;  ///< "": no single pod does
    std::string reason;
    std::string message;
    friend bool operator==(const Held&, const Held&) = default;
  };
  std::int32_t busy = 0;     ///< nodes with pods that do not go with their node
  std::int32_t freed = 0;    ///< of those, empty once the plan is carried out
  std::int32_t bound = 0;    ///< no plan at all could free more
  std::string bound_reason;  ///< what needs the others
  std::string note;          ///< why less was done than could be; "": that was all
  std::vector<Held> held;    ///< the first ones of those that stay
  friend bool operator==(const EmptyingReport&, const EmptyingReport&) = default;
};

/// How unevenly pods are spread over the places that a strategy counts them in, such as the domains of topology spread
/// constraints. Figures: see UnevenCounts (uneven_counts.hpp).
struct CountReport {
  std::string counted;  ///< kCountsByDomain or kCountsOfDuplicates
  double deviation_before = 0;
  double deviation_after = 0;  ///< once the plan is carried out
  double peak_before = 0;      ///< fullest place over mean
  double peak_after = 0;
  friend bool operator==(const CountReport&, const CountReport&) = default;
};
inline constexpr std::string_view kCountsByDomain = "domains";
inline constexpr std::string_view kCountsOfDuplicates = "duplicates";

/// Takes nominations, one at a time, and answers at once.
class NominationSink {
 public:
  virtual ~NominationSink() = default;

  /// Proposes that `pod` leaves. `reason` is for people.
  virtual NominationResult offer(PodIndex pod, std::string_view reason) = 0;
  /// The same for a move that helps only if the replacement is placed where `goal` says. A sink that predicts
  /// placements refuses the others. One that does not takes the offer as it is.
  virtual NominationResult offer_towards(PodIndex pod, std::string_view reason, const Goal& goal) {
    static_cast<void>(goal);
    return offer(pod, reason);
  }
  /// As offer_towards(), but the pod leaves even if its replacement fits on no node: more nodes are expected. A sink
  /// that predicts placements refuses it only where the scheduler would put the replacement on a node that does not
  /// help.
  virtual NominationResult offer_anyway(PodIndex pod, std::string_view reason, const Goal& goal) {
    return offer_towards(pod, reason, goal);
  }
  /// Proposes that all of them leave, or none: the first result that is not kAccepted counts for all. A sink that
  /// cannot take back what it accepted stops there.
  virtual NominationResult offer_whole(std::span<const PodIndex> pods, std::string_view reason, const Goal& goal) {
    for (const PodIndex pod : pods) {
      if (const NominationResult result = offer_towards(pod, reason, goal); result != NominationResult::kAccepted)
        return result;
    }
    return NominationResult::kAccepted;
  }
  /// What is offered and avoided from here to end_plan() stands or falls as a whole. One plan at a time.
  virtual void begin_plan() {}
  /// Takes all of it back unless `keep`; what was refused stays on record. A sink that cannot take back what it
  /// accepted ignores it.
  virtual void end_plan(bool keep) { static_cast<void>(keep); }
  /// Asks the scheduler to place pods elsewhere if it can, by a soft taint `key` of the policy's own on `nodes`, in
  /// addition to those named before. It counts for every offer from here on. False: the policy may not taint nodes, and
  /// nothing changes.
  virtual bool avoid(std::string_view key, std::span<const NodeIndex> nodes) {
    static_cast<void>(key);
    static_cast<void>(nodes);
    return false;
  }
  /// What is offered from here on belongs to this wave (api::PlannedMove::wave); 0: to none.
  virtual void start_wave(std::int32_t wave) { static_cast<void>(wave); }
  /// Why an offer of the pod would be refused wherever it went; nullopt: that depends. Nothing is recorded.
  virtual std::optional<scheduling::Refusal> objection(PodIndex pod) {
    static_cast<void>(pod);
    return std::nullopt;
  }
  /// The cycle has no more time for pods of that namespace: an offer of the pod would be refused. Strategies ask before
  /// they work on a pod; the time until the next call of the sink counts as spent on the pod's namespace. The call is a
  /// heartbeat, too.
  virtual bool is_out_of_time(PodIndex pod) {
    static_cast<void>(pod);
    return false;
  }
  /// So many more pods may leave in this cycle; nullopt: any number.
  virtual std::optional<std::int64_t> moves_left() const { return std::nullopt; }
  /// What an offer's goal leaves open is ours to choose: replacements go where they are told. False: the scheduler
  /// chooses, and a goal only says what helps.
  virtual bool chooses_targets() const { return false; }
  virtual void report(EmptyingReport report) { static_cast<void>(report); }
  virtual void report(CountReport report) { static_cast<void>(report); }
  virtual void report(api::NodeClasses classes) { static_cast<void>(classes); }
  /// Number of nodes that a report of classes names.
  virtual std::size_t node_rows() const { return 0; }
  /// The cluster once everything that was accepted is done and every replacement runs where it is expected; nullptr:
  /// the sink predicts nothing.
  virtual const scheduling::WhatIf* expected_cluster() const { return nullptr; }
  /// From the cluster as it is now; nullptr: the sink predicts nothing.
  virtual std::unique_ptr<WhatIfPlacement> try_placements() const { return nullptr; }
  /// The same as the need arises, until the next call or the end of the strategy: where the scheduler would put a
  /// replacement on a node that does not help, and `may` says yes to that node, it is avoided and the offer judged
  /// anew. Never a node that an accepted replacement goes to.
  virtual void avoid_competitors(std::string_view key, Goal may) {
    static_cast<void>(key);
    static_cast<void>(may);
  }
  /// True if the node keeps the soft taint `key` whatever is avoided: moves of earlier plans count on it.
  virtual bool is_pledged(std::string_view key, NodeIndex node) const {
    static_cast<void>(key);
    static_cast<void>(node);
    return false;
  }
  /// True if the node bears the policy's soft taint `key` now.
  virtual bool bears(std::string_view key, NodeIndex node) const {
    static_cast<void>(key);
    static_cast<void>(node);
    return false;
  }
  /// Passes the reason to `handler` instead of recording it when an offer is refused with SchedulerDisagrees, until the
  /// next call or the end of the strategy. The strategy must report the reason with refused() or offer the pod again.
  /// An empty handler restores recording. A sink that predicts no placements ignores the call.
  virtual void defer_disagreements(DisagreementHandler handler) { static_cast<void>(handler); }
  /// Reports a pod that meets the strategy's criteria but is protected. For the record only.
  virtual void refused(PodIndex pod, const scheduling::Refusal& refusal) = 0;
  /// refused() with more words: `details` is called only where the record shows the refusal; "" adds nothing.
  virtual void refused_because(PodIndex pod, const scheduling::Refusal& refusal,
                               const std::function<std::string()>& details) {
    static_cast<void>(details);
    refused(pod, refusal);
  }
};

/// What a strategy that works in rounds does in this cycle: each round levels nodes and then packs them.
enum class RoundPhase { kLeveling, kPacking };

/// When rounds end.
struct RoundRules {
  std::int32_t max_rounds = 5;
  /// A round has gained if it freed so many nodes, or lowered the imbalance of the nodes in use by so many points;
  /// nullopt: that does not count.
  std::optional<std::int32_t> least_freed{1};
  std::optional<double> least_imbalance{};
  base::Duration settle_timeout = base::minutes(15);
  friend bool operator==(const RoundRules&, const RoundRules&) = default;
};

struct StrategyContext {
  /// The cluster as it would be after everything accepted so far, this strategy's own offers included if the sink moves
  /// them. Pods that are leaving already are off their nodes.
  const scheduling::WhatIf& cluster;
  std::span<const NodeIndex> nodes;  ///< the nodes looked at, in order
  const scheduling::EvictabilityRules& evictability;
  base::TimePoint now;
  const UsageView* usage = nullptr;          ///< real usage; nullptr: by requests
  const RestartHistory* restarts = nullptr;  ///< earlier totals; nullptr: nobody looked
  /// What was measured, one for each source that somebody needs; MeasuredUsage::source tells them apart.
  std::span<const std::shared_ptr<const scheduling::MeasuredUsage>> measured{};
  /// Time since the cycle began; empty: nobody looks at a clock, and only steps bound a search. With an executor it is
  /// called by several threads.
  std::function<base::Duration()> elapsed{};
  /// True: what comes out is not wanted any more; empty: it is. Called as `elapsed` is.
  std::function<bool()> is_cancelled{};
  /// An earlier plan goes on after its first wave: what is worth a plan was asked then.
  bool continues_plan = false;
  /// What strategies found in `measured` for the others; nullptr: each searches for itself.
  MeasuredEntriesMemo* measured_entries = nullptr;
  /// How the cluster's scheduler chooses.
  scheduling::SchedulerRules scheduler{};
  /// Of a strategy that works in rounds.
  RoundPhase round_phase = RoundPhase::kLeveling;
  /// Who runs the parts of a search that do not depend on one another.
  Executor executor{};
  /// BalanceSubject::means as balances() gave it, while no pod has been moved since; nullptr: whoever wants them makes
  /// them.
  std::shared_ptr<const UsageView> means{};

  /// Decide as upstream's descheduler does, faults included.
  bool is_upstream() const { return evictability.is_upstream(); }
};

/// What a balance strategy evens out, so that others can tell whether it gains.
struct BalanceSubject {
  /// Nodes that are balanced among themselves.
  struct Pool {
    std::vector<NodeIndex> nodes;
    /// By resource: percent up to which nodes are to be filled, so that only what is above counts; empty: all counts.
    std::vector<double> packed_to{};
    /// By resource: nodes at or below all of these percentages are to be emptied, so that only what is on them counts;
    /// empty: none is.
    std::vector<double> emptied_up_to{};
  };
  std::vector<std::string> resources;
  std::vector<Pool> pools;
  std::shared_ptr<const UsageView> usage;  ///< refers to the context
  std::shared_ptr<const UsageView> means;  ///< what pods use usually, and nodes then; nullptr: nobody knows
  bool by_load = false;                    ///< by measured load, which the scheduler does not see; else by requests
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  virtual StrategyPhase phase() const = 0;
  /// An error means that the strategy could not judge (missing usage data); what it offered before stands.
  virtual base::Status nominate(const StrategyContext& context, NominationSink& sink) const = 0;
  /// The time window in which it counts restarts, so that somebody must remember them; absent: it has none.
  virtual std::optional<base::seconds> restart_window() const { return std::nullopt; }
  /// Whose figures it goes by, so that somebody measures them; empty: by requests.
  virtual std::vector<scheduling::UsageNeed> usage_needs() const { return {}; }
  /// The key of the soft taints that it asks for (NominationSink::avoid()); empty: it asks for none.
  virtual std::string_view soft_taint() const { return {}; }
  /// It works in rounds, and StrategyContext::round_phase says what to do; nullopt: it does not.
  virtual std::optional<RoundRules> rounds() const { return std::nullopt; }
  /// What its arguments do that nobody may expect, for people; "": nothing.
  virtual std::string caution(bool is_upstream) const {
    static_cast<void>(is_upstream);
    return {};
  }
  /// nullopt: it evens out no load, or cannot tell.
  virtual std::optional<BalanceSubject> balances(const StrategyContext& context) const {
    static_cast<void>(context);
    return std::nullopt;
  }
};

}  // namespace strategies
