#pragma once

/// Report of placement advice. Texts are human-readable and contain unescaped names chosen by tenants.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace advisor {

/// What keeps a cluster fragmented or at risk.
enum class Cause {
  kRequiredAntiAffinity,  ///< could be preferred
  kHostnameSpread,        ///< could be over zones
  kZoneSpread,            ///< could be ScheduleAnyway
  kNodeSelector,          ///< pins pods to some nodes
  kBlockingBudget,        ///< never allows an eviction
  kOverlappingBudgets,    ///< two budgets cover a pod, so the eviction API refuses it
  kLocalVolume,           ///< volume on one node
  kZonalVolume,           ///< volume in one zone
  kBarePod,               ///< no controller would recreate it
  kOversizedRequests,     ///< far above usage
  kSingleReplica,         ///< first of the causes without an effect on a plan
  kMissingBudget,
  kEmptyBudget,   ///< covers no pod
  kIdlePriority,  ///< would never preempt a pod
};
std::string_view to_string(Cause cause);
/// Returns true if a plan on a changed copy can show the effect of a change; other causes are risks.
inline bool has_effect(Cause cause) { return cause < Cause::kSingleReplica; }
/// Returns true for budgets that keep a drain from finishing.
inline bool blocks_drains(Cause cause) {
  return cause == Cause::kBlockingBudget || cause == Cause::kOverlappingBudgets;
}

/// How far a constraint is relaxed.
enum class Grade {
  kPreferred,  ///< the scheduler still prefers it
  kDropped,    ///< if kPreferred has no effect
};

enum class Risk { kLow, kMedium, kHigh };
std::string_view to_string(Risk risk);

/// Result of a Defragmentation plan.
struct Outcome {
  std::int32_t freed = 0;  ///< number of nodes freed
  std::int32_t moves = 0;
  std::int32_t bound = 0;  ///< upper bound of `freed` for any plan
  std::string bound_reason;
};

struct Finding {
  Cause cause = Cause::kRequiredAntiAffinity;
  std::string ns;
  std::string kind;  ///< "Deployment"; "" for several workloads
  std::string name;  ///< "" for all findings of this cause
  std::int32_t pods = 0;
  std::int32_t nodes = 0;  ///< number of nodes with these pods
  Grade grade = Grade::kPreferred;
  Risk risk = Risk::kLow;
  std::string why;                ///< "10 pods keep off one another, one a node"
  std::string change;             ///< "make it preferred (weight 100)"
  std::optional<Outcome> then{};  ///< outcome with this change alone, nullopt if not planned
};

/// A threshold with a PromQL expression that is true beyond it.
struct Alert {
  std::string name;
  double percent = 0;
  std::string meaning;
  std::string expression;
};

struct PlacementReport {
  std::int32_t nodes = 0;
  std::int32_t busy = 0;          ///< nodes with pods other than DaemonSet and mirror pods
  Outcome now;                    ///< without any change
  std::vector<Finding> findings;  ///< largest effect first, then risks
  std::int32_t unplanned = 0;     ///< findings with an effect that were not planned because there are too many
  std::vector<Alert> alerts;
};

/// Additional nodes freed and moves saved by the change, compared with the unchanged cluster. May be negative.
std::int32_t gained_nodes(const Finding& finding, const Outcome& now);
std::int32_t saved_moves(const Finding& finding, const Outcome& now);

}  // namespace advisor
