#pragma once

/// What advice on placement says. Texts are for people; names in them are of the cluster's tenants and not yet plain.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace advising {

/// What holds a cluster fragmented, or at risk.
enum class Cause {
  kRequiredAntiAffinity,  ///< could be preferred
  kHostnameSpread,        ///< could be over zones
  kZoneSpread,            ///< could be ScheduleAnyway
  kNodeSelector,          ///< pins pods to some nodes
  kBlockingBudget,        ///< lets nobody go, ever
  kOverlappingBudgets,    ///< two of a pod: the eviction API refuses it
  kLocalVolume,           ///< a disk of one node
  kZonalVolume,           ///< a disk of one zone
  kBarePod,               ///< nobody starts it again
  kOversizedRequests,     ///< far above what is used
  kSingleReplica,
  kMissingBudget,
  kEmptyBudget,   ///< covers no pod
  kIdlePriority,  ///< would never preempt anybody
};
std::string_view to_string(Cause cause);
/// Of those that a plan on a changed copy can judge; the others are risks.
bool has_effect(Cause cause);

/// How far a constraint is given up.
enum class Grade {
  kPreferred,  ///< the scheduler still does what it can
  kDropped,    ///< where that is not enough
};

/// How much is given up by the change.
enum class Risk { kLow, kMedium, kHigh };
std::string_view to_string(Risk risk);

/// What Defragmentation comes to.
struct Outcome {
  std::int32_t freed = 0;  ///< nodes
  std::int32_t moves = 0;
  std::int32_t bound = 0;  ///< no plan could free more
  std::string bound_reason;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

struct Finding {
  Cause cause = Cause::kRequiredAntiAffinity;
  std::string ns;
  std::string kind;  ///< "Deployment"; "" with several
  std::string name;  ///< "": all of this cause together
  std::int32_t pods = 0;
  std::int32_t nodes = 0;  ///< that these pods are on
  Grade grade = Grade::kPreferred;
  Risk risk = Risk::kLow;
  std::string why;                ///< "10 pods keep off one another, one a node"
  std::string change;             ///< "make it preferred (weight 100)"
  std::optional<Outcome> then{};  ///< with this change alone; absent: nobody planned it
  friend bool operator==(const Finding&, const Finding&) = default;
};

/// A threshold with the PromQL that tells whether it is passed.
struct Alert {
  std::string name;
  double percent = 0;
  std::string meaning;
  std::string expression;
  friend bool operator==(const Alert&, const Alert&) = default;
};

struct PlacementReport {
  std::int32_t nodes = 0;
  std::int32_t busy = 0;          ///< nodes with pods that do not go with their node
  Outcome now;                    ///< without any change
  std::vector<Finding> findings;  ///< those with the largest effect first, then the risks
  std::int32_t unplanned = 0;     ///< findings with an effect that nobody worked out, for there were too many
  std::vector<Alert> alerts;
};

/// Nodes that the change frees beyond what is free to have, and moves that it saves; both may be negative.
std::int32_t gained_nodes(const Finding& finding, const Outcome& now);
std::int32_t saved_moves(const Finding& finding, const Outcome& now);

}  // namespace advising
