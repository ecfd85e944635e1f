#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "planner/scheduling/refusal.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/strategies/strategy.hpp"

namespace planning {

/// spec.limits.perCycle while a plan is made. A pod is refused when one more would exceed a limit, in the order total,
/// node, namespace (upstream-semantics.md#cycle-limits); 0 allows none, absent allows all; a pod without a node skips
/// the node's limit.
class CycleLimits {
 public:
  explicit CycleLimits(const api::PerCycleLimits& limits) : limits_(limits) {}

  struct Hit {
    strategies::NominationResult result;
    scheduling::Refusal refusal;
  };
  std::optional<Hit> hit(scheduling::NodeIndex node, scheduling::NamespaceIndex ns) const;
  /// So many more moves within the total limit; nullopt: it has none.
  std::optional<std::int64_t> left() const {
    if (!limits_.total) return std::nullopt;
    return std::max<std::int64_t>(*limits_.total - total_, 0);
  }
  /// Counts an accepted move. Refused ones cost nothing.
  void count(scheduling::NodeIndex node, scheduling::NamespaceIndex ns);

 private:
  api::PerCycleLimits limits_;
  std::int64_t total_ = 0;
  // Only where there is a limit.
  std::unordered_map<scheduling::NodeIndex, std::int64_t> per_node_;
  std::unordered_map<scheduling::NamespaceIndex, std::int64_t> per_namespace_;
};

/// Shares the time of a cycle among namespaces, so that pods of one whose pods take long to judge do not use up what
/// the others need. From half of the limit on a namespace is refused that has used more than its share of that half:
/// one that needs little leaves the rest of its own to the others. At the limit all are refused. Time runs from the
/// first call on. One thread.
class CycleTime {
 public:
  /// `limit`: nullopt: none. `elapsed`: see PlanOptions; empty: no time passes. `is_shared`: false: one namespace may
  /// use all of it.
  CycleTime(std::optional<base::Duration> limit, std::function<base::Duration()> elapsed, bool is_shared = true)
      : limit_(limit), elapsed_(std::move(elapsed)), is_shared_(is_shared) {}

  /// Work on a pod of `ns` is about to begin: the time until the next call counts as spent on it. True: it has no time
  /// left.
  bool is_over_for(scheduling::NamespaceIndex ns);
  /// Time until the next call counts as spent on no namespace.
  void leave_namespace() { charge(std::nullopt); }
  /// No namespace has any time left. Stays true.
  bool is_over() const { return is_over_; }

 private:
  void charge(std::optional<scheduling::NamespaceIndex> next);
  void divide();

  std::optional<base::Duration> limit_;
  std::function<base::Duration()> elapsed_;
  bool is_shared_;
  std::optional<base::Duration> last_;  ///< when charge() was called last
  base::Duration total_{};
  std::optional<scheduling::NamespaceIndex> current_;
  std::unordered_map<scheduling::NamespaceIndex, base::Duration> used_;
  std::optional<base::Duration> share_;  ///< as of shared_at_
  base::Duration shared_at_{};
  bool is_over_ = false;
};

}  // namespace planning
