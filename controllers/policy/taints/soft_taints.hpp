#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/vocabulary/reasons.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/metrics.hpp"
#include "base/result.hpp"
#include "controllers/policy/taints/claims.hpp"
#include "kube/client.hpp"
#include "kube/runtime/requeue.hpp"
#include "kube/runtime/store.hpp"

namespace controllers {

/// Writes the soft taints of policies to nodes, and removes those that no policy wants, including those of earlier
/// processes. Each write is a merge patch of taints read immediately before, bound to that version, so that taints of
/// other components are not lost. Thread-safe.
class SoftTaints {
 public:
  /// Time without further attempts after a 403, or for one policy whose taint the server refuses.
  static constexpr base::minutes kForbiddenFor{10};
  /// Time without further attempts after a transient error.
  static constexpr base::minutes kFailedFor{1};
  /// Number of consecutive cycles without a judgement for which the last wanted taints are kept.
  static constexpr int kMaxUnjudgedCycles = 3;
  /// Maximum number of nodes that place() writes itself; the queue handles the rest.
  static constexpr std::size_t kMaxAtOnce = 500;

  struct Dependencies {
    kube::Client& client;
    const base::Clock& clock;  ///< must be steady
    const kube::Store<api::Node>& nodes;
    /// Enqueues the node for reconcile().
    std::function<void(const std::string& node)> enqueue;
    std::function<bool()> may_act;
    base::Metrics& metrics;
    base::Log log;
  };

  explicit SoftTaints(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  /// Keeps the policy's taints on nodes until it has planned. Call for all policies before the first reconcile().
  void register_policy(const std::string& policy);
  /// Sets the taints wanted by the newest cycle and writes them. Returns false if one of `taints` cannot be written;
  /// the policy must then plan without taints, see problem(), and drop() has been called.
  bool place(const std::string& policy, const std::vector<planner::NodeTaint>& taints,
             const std::function<void()>& progress);
  /// Records that moves of the policy's newest plan depend on its kLoadedTaint taints.
  void pledge(const std::string& policy, TaintPledge pledge);
  /// Returns the nodes on whose kLoadedTaint unfinished moves of earlier plans depend. Call before each plan. When a
  /// policy plans for the first time in this process, its existing taints are pledged to `unfinished`.
  std::vector<std::string> pledged(const std::string& policy, const std::vector<api::ObjectKey>& unfinished,
                                   const TaintPledges::Look& look, base::TimePoint now);
  /// Call when no move of the policy depends on taints any more.
  void forget_pledges(const std::string& policy);
  /// Call after a cycle without a judgement. Keeps the wanted taints for kMaxUnjudgedCycles, and pledged ones longer.
  void keep(const std::string& policy);
  /// Removes all taints of the policy, also when it is gone.
  void drop(const std::string& policy);
  /// Removes the taints of the policy with `key`.
  void drop(const std::string& policy, std::string_view key);

  /// Reason why the policy's taints cannot be written now.
  struct Problem {
    api::Reason reason = api::Reason::kTaintsWritten;
    std::string text{};  ///< "" if they can
    bool empty() const { return text.empty(); }
  };
  Problem problem(const std::string& policy) const;
  std::size_t nodes_of(const std::string& policy) const;

  void on_node(const api::Node& node);
  /// Reconciles one node, by name.
  base::Result<kube::Requeue> reconcile(const api::ObjectKey& node);

 private:
  std::vector<std::string> due() const;
  void enqueue_due() const;
  base::Status write(const std::string& node);
  base::Status try_to_write(const std::string& node);
  base::Error refused(const std::string& node, const base::Error& error);
  bool is_forbidden() const;
  void give_up(const std::string& policy, const base::Error& error);
  TaintChange change_for(const std::string& node, const std::vector<api::Taint>& taints) const;

  Dependencies deps_;
  mutable std::mutex mutex_;  ///< guards all members below
  TaintClaims claims_;
  TaintPledges pledges_;
  std::map<std::string, std::vector<planner::NodeTaint>> pledged_;  ///< last result of pledged(), by policy
  std::map<std::string, int> unjudged_cycles_;  ///< number of consecutive cycles without a judgement, by policy
  struct Failure {
    base::TimePoint until;
    Problem problem;
  };
  std::optional<Failure> forbidden_;         ///< for all policies
  std::map<std::string, Failure> given_up_;  ///< by policy
};

/// Sets condition SoftTaints if the policy asks for soft taints, removes it otherwise.
void set_soft_taints_condition(std::vector<api::Condition>& conditions, bool asks, const SoftTaints::Problem& problem,
                               std::size_t nodes, std::int64_t generation, base::TimePoint now);

}  // namespace controllers
