#pragma once

/// Soft taints that nodes should have, by policy. Pure.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/json/json.hpp"
#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"
#include "planner/plan/planner.hpp"

namespace controllers {

/// Difference between the actual and the wanted taints of one node.
struct TaintChange {
  std::vector<api::Taint> add;
  std::vector<api::Taint> remove;
  bool empty() const { return add.empty() && remove.empty(); }
  friend bool operator==(const TaintChange&, const TaintChange&) = default;
};

/// Taints wanted by policies. A policy with a claim has stated its wishes; a policy that is only known has not planned
/// yet, and its taints on nodes are kept. Taints of all other policies are removed.
class TaintClaims {
 public:
  /// Registers a policy: its taints on nodes are kept until it claims. Keeps an existing claim.
  void register_policy(const std::string& policy);
  /// Replaces the policy's claim by `taints`, which may be empty.
  void claim(const std::string& policy, const std::vector<planner::NodeTaint>& taints);
  /// Removes the policy; it wants no taints any more.
  void drop(const std::string& policy);
  /// Removes `key` from the policy's claim until it claims again, including taints placed by an earlier process.
  /// Returns false if nothing changes.
  bool drop(const std::string& policy, std::string_view key);
  /// Whether the policy is known but has no claim yet.
  bool is_only_known(const std::string& policy) const;
  std::size_t nodes_of(const std::string& policy) const;

  /// Returns the change that gives a node the wanted taints. Considers only taints with a key of kSoftTaints and the
  /// effect PreferNoSchedule; all others are kept. A node can have only one taint per key and effect: if several
  /// policies want it, the policy that has it keeps it, otherwise the first by taint value gets it.
  TaintChange change_for(const std::string& node, const std::vector<api::Taint>& taints) const;

 private:
  using Key = std::pair<std::string, std::string>;  ///< node, key of the taint
  bool wants(const std::string& node, const api::Taint& taint) const;
  void forget_dropped(const std::string& value);

  std::map<std::string, std::optional<std::set<Key>>> by_value_;  ///< nullopt if not planned yet
  std::set<std::pair<std::string, std::string>> dropped_;         ///< value, key; of policies that have not planned yet
};

/// Decodes spec.taints of a node; skips entries that do not decode.
std::vector<api::Taint> taints_in(const api::Json& node);
/// Returns spec.taints after the change. Other entries are preserved, in their order.
api::Json with_change(const api::Json& node, const TaintChange& change);

/// Dependency of one plan's moves on soft taints: their replacements must find the taint on these nodes.
struct TaintPledge {
  std::vector<std::string> nodes;
  std::vector<api::ObjectKey> evacuations;  ///< Evacuations of the moves
  base::TimePoint made{};
};

/// Pledges of plans with unfinished moves: a PDB may delay an Evacuation beyond the lifetime of its plan. Pure.
class TaintPledges {
 public:
  /// Time for which an Evacuation missing in the cache counts as unfinished, because the cache lags.
  static constexpr base::minutes kUnseen{1};

  enum class Progress { kUnfinished, kFinished, kNotSeen };
  using Look = std::function<Progress(const api::ObjectKey& evacuation)>;

  /// Ignores a pledge without nodes or Evacuations.
  void add(const std::string& policy, TaintPledge pledge);
  void drop(const std::string& policy) { by_policy_.erase(policy); }
  /// Nodes on whose taints unfinished moves of the policy depend, sorted. Drops finished moves.
  std::vector<std::string> nodes_of(const std::string& policy, const Look& look, base::TimePoint now);

 private:
  std::map<std::string, std::vector<TaintPledge>> by_policy_;
};

}  // namespace controllers
