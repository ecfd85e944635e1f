#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "api/descheduler_policy.hpp"
#include "scheduling/refusal.hpp"
#include "scheduling/snapshot/cluster_snapshot.hpp"
#include "strategies/strategy.hpp"

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

}  // namespace planning
