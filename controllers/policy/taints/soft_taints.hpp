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
#include "controllers/policy/taints/pledges.hpp"
#include "kube/client.hpp"
#include "kube/runtime/requeue.hpp"
#include "kube/runtime/store.hpp"

namespace controllers {

/// Carries the soft taints of policies to the nodes, and takes off what no policy wants any more: also what an earlier
/// process left. Each write is a merge patch of the node's taints as they were read a moment before, bound to that
/// version, so that nobody else's taint is lost. Thread-safe.
class SoftTaints {
 public:
  /// After a 403 nothing is tried for so long; nor for the policy whose taint the server does not take.
  static constexpr base::minutes kForbiddenFor{10};
  /// The same after an error that passes by itself.
  static constexpr base::minutes kFailedFor{1};
  /// So many cycles in a row that could not judge keep what the last good one wanted.
  static constexpr int kKeptCycles = 3;
  /// Nodes that place() writes itself; the rest is left to the queue.
  static constexpr std::size_t kMaxAtOnce = 500;

  struct Dependencies {
    kube::Client& client;
    const base::Clock& clock;  ///< a steady one
    const kube::Store<api::Node>& nodes;
    /// Has reconcile() called for the node.
    std::function<void(const std::string& node)> enqueue;
    std::function<bool()> may_act;
    base::Metrics& metrics;
    base::Log log;
  };

  explicit SoftTaints(Dependencies dependencies) : deps_(std::move(dependencies)) {}

  /// The policy exists: until it planned, what nodes bear of it stays. REQUIRES: called for all of them before the
  /// first reconcile().
  void know(const std::string& policy);
  /// What its newest cycle wants, written before this returns as far as that goes. False: one of `taints` could not be
  /// written, and the policy must do without any, as problem() says; drop() is done.
  bool place(const std::string& policy, const std::vector<planning::NodeTaint>& taints,
             const std::function<void()>& progress);
  /// Moves of the policy's newest plan count on its taints kLoadedTaint.
  void pledge(const std::string& policy, TaintPledge pledge);
  /// Nodes whose taint kLoadedTaint unfinished moves of earlier plans count on: to be asked before each plan. What a
  /// policy's nodes bear when it plans for the first time in this process is pledged to `unfinished`.
  std::vector<std::string> pledged(const std::string& policy, const std::vector<api::ObjectKey>& unfinished,
                                   const TaintPledges::Look& look, base::TimePoint now);
  /// No move of the policy counts on taints any more.
  void forget_pledges(const std::string& policy);
  /// A cycle could not judge: what was wanted stays for kKeptCycles, and what is pledged for longer.
  void keep(const std::string& policy);
  /// It wants none any more, or is gone.
  void drop(const std::string& policy);
  /// The same of its taints `key`.
  void drop(const std::string& policy, std::string_view key);

  /// Why the policy's taints cannot be written now.
  struct Problem {
    api::Reason reason = api::Reason::kTaintsWritten;
    std::string text{};  ///< "": they can
    bool empty() const { return text.empty(); }
  };
  Problem problem(const std::string& policy) const;
  std::size_t nodes_of(const std::string& policy) const;

  void on_node(const api::Node& node);
  /// One node, by name.
  base::Result<kube::Requeue> reconcile(const api::ObjectKey& node);

 private:
  std::vector<std::string> bearers_of(const std::string& policy, std::string_view key) const;
  std::vector<std::string> due() const;
  void enqueue_due() const;
  base::Status write(const std::string& node);
  base::Status try_to_write(const std::string& node);
  base::Error refused(const std::string& node, const base::Error& error);
  bool is_forbidden() const;
  void give_up(const std::string& policy, const base::Error& error);
  TaintChange change_for(const std::string& node, const std::vector<api::Taint>& taints) const;

  Dependencies deps_;
  mutable std::mutex mutex_;  ///< of all below
  TaintClaims claims_;
  TaintPledges pledges_;
  std::map<std::string, std::vector<planning::NodeTaint>> pledged_;  ///< what pledged() said last, by policy
  std::map<std::string, int> missed_;  ///< cycles in a row that could not judge, by policy
  struct Failure {
    base::TimePoint until;
    Problem problem;
  };
  std::optional<Failure> forbidden_;         ///< of all policies
  std::map<std::string, Failure> given_up_;  ///< by policy
};

/// Condition SoftTaints of a policy that asks for them; one that does not has none.
void set_soft_taints_condition(std::vector<api::Condition>& conditions, bool asks, const SoftTaints::Problem& problem,
                               std::size_t nodes, std::int64_t generation, base::TimePoint now);

}  // namespace controllers
