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

namespace planner {

/// Enforces spec.limits.perCycle during planning. A pod is refused if one more move would exceed a limit, in the order
/// total, node, namespace (upstream-semantics.md#cycle-limits). 0 allows no moves; an absent limit allows all. A pod
/// without a node skips the node limit.
class CycleLimits {
 public:
  explicit CycleLimits(const api::PerCycleLimits& limits) : limits_(limits) {}

  struct Hit {
    strategies::NominationResult result;
    scheduling::Refusal refusal;
  };
  std::optional<Hit> hit(scheduling::NodeIndex node, scheduling::NamespaceIndex ns) const;
  /// Number of moves left within the total limit, or nullopt if there is no total limit.
  std::optional<std::int64_t> left() const {
    if (!limits_.total) return std::nullopt;
    return std::max<std::int64_t>(*limits_.total - total_, 0);
  }
  /// Counts an accepted move. Do not call for refused moves.
  void count(scheduling::NodeIndex node, scheduling::NamespaceIndex ns);

 private:
  api::PerCycleLimits limits_;
  std::int64_t total_ = 0;
  // Filled only if the limit is set.
  std::unordered_map<scheduling::NodeIndex, std::int64_t> per_node_;
  std::unordered_map<scheduling::NamespaceIndex, std::int64_t> per_namespace_;
};

/// Shares the time of a cycle among namespaces, so that one with expensive pods does not use up the time of the
/// others. After half of the limit, a namespace is refused once it has used more than its share of that half;
/// namespaces that need less leave their rest to others. At the limit all are refused. Time runs from the first call
/// on. Not thread-safe.
class CycleTime {
 public:
  /// No limit applies if `limit` is nullopt, and no time passes if `elapsed` is empty (see PlanOptions). If `is_shared`
  /// is false, one namespace may use the whole limit.
  CycleTime(std::optional<base::Duration> limit, std::function<base::Duration()> elapsed, bool is_shared = true)
      : limit_(limit), elapsed_(std::move(elapsed)), is_shared_(is_shared) {}

  /// Call before work on a pod of `ns`: the time until the next call is charged to `ns`. Returns true if `ns` has no
  /// time left.
  bool is_over_for(scheduling::NamespaceIndex ns);
  /// Stops charging time to a namespace until the next call of is_over_for().
  void leave_namespace() { charge(std::nullopt); }
  /// Returns true if no namespace has time left. Never becomes false again.
  bool is_over() const { return is_over_; }

 private:
  void charge(std::optional<scheduling::NamespaceIndex> next);
  void divide();

  std::optional<base::Duration> limit_;
  std::function<base::Duration()> elapsed_;
  bool is_shared_;
  std::optional<base::Duration> last_;  ///< time of the last charge()
  base::Duration total_{};
  std::optional<scheduling::NamespaceIndex> current_;
  std::unordered_map<scheduling::NamespaceIndex, base::Duration> used_;
  std::optional<base::Duration> share_;  ///< as of shared_at_
  base::Duration shared_at_{};
  bool is_over_ = false;
};

}  // namespace planner
