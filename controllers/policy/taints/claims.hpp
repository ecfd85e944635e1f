#pragma once

/// Which soft taints nodes are to bear, for which policy. Pure.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/json/json.hpp"
#include "planner/plan/planner.hpp"

namespace controllers {

/// What is missing on one node, and what is too much there.
struct TaintChange {
  std::vector<api::Taint> add;
  std::vector<api::Taint> remove;
  bool empty() const { return add.empty() && remove.empty(); }
  friend bool operator==(const TaintChange&, const TaintChange&) = default;
};

/// What policies want of nodes. A policy with a claim has said what it wants; one that is only known has not planned
/// yet, and what nodes bear of it stays. What any other policy left behind goes.
class TaintClaims {
 public:
  /// Nothing of what nodes bear of it is touched until it says more. A claim that it has stands.
  void know(const std::string& policy);
  /// All that the policy wants; empty: nothing, which is no drop() only by name.
  void claim(const std::string& policy, const std::vector<planning::NodeTaint>& taints);
  /// The policy wants nothing any more.
  void drop(const std::string& policy);
  /// It wants no taint `key` any more, until it claims some; nor does it want what an earlier process put. False:
  /// nothing changes.
  bool drop(const std::string& policy, std::string_view key);
  /// It has not said what it wants.
  bool is_only_known(const std::string& policy) const;
  std::size_t nodes_of(const std::string& policy) const;

  /// What makes a node's taints right. Only taints with a key of kSoftTaints and the effect PreferNoSchedule are ours;
  /// all others stay, whoever put them. A node bears one taint of a key and effect at most: where several policies want
  /// it, the one that has it keeps it, and then the first by its value.
  TaintChange change_for(const std::string& node, const std::vector<api::Taint>& taints) const;

 private:
  using Key = std::pair<std::string, std::string>;  ///< node, key of the taint
  bool wants(const std::string& node, const api::Taint& taint) const;
  void forget_dropped(const std::string& value);

  std::map<std::string, std::optional<std::set<Key>>> by_value_;  ///< nullopt: not planned yet
  std::set<std::pair<std::string, std::string>> dropped_;         ///< value, key: of those that have not planned yet
};

/// spec.taints of a node as the server has it; what does not decode is left out.
std::vector<api::Taint> taints_in(const api::Json& node);
/// spec.taints of the node after the change. Entries that it does not name stay as they are, in their order.
api::Json with_change(const api::Json& node, const TaintChange& change);

}  // namespace controllers
