#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"

namespace controllers {

/// Dependency of one plan's moves on soft taints: their replacements must find the taint on these nodes.
struct TaintPledge {
  std::vector<std::string> nodes;
  std::vector<api::ObjectKey> evacuations;  ///< Evacuations of the moves
  base::TimePoint made{};
};

/// Pledges of plans whose moves are unfinished, since a PDB may delay an Evacuation beyond the lifetime of its plan.
/// Pure.
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
