#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/meta/object_meta.hpp"
#include "base/clock.hpp"

namespace controllers {

/// What the moves of one plan count on: their replacements are to meet a soft taint on these nodes.
struct TaintPledge {
  std::vector<std::string> nodes;
  std::vector<api::ObjectKey> evacuations;  ///< those moves
  base::TimePoint made{};
};

/// Pledges of plans whose moves are not done: a budget may make an Evacuation wait for longer than its plan lasts.
/// Pure.
class TaintPledges {
 public:
  /// An Evacuation that is not seen counts as unfinished for so long: the cache lags behind.
  static constexpr base::minutes kUnseen{1};

  enum class Progress { kUnfinished, kFinished, kNotSeen };
  using Look = std::function<Progress(const api::ObjectKey& evacuation)>;

  /// One without nodes or Evacuations is none.
  void add(const std::string& policy, TaintPledge pledge);
  void drop(const std::string& policy) { by_policy_.erase(policy); }
  /// The nodes that unfinished moves of the policy still count on, sorted. Forgets moves that are finished.
  std::vector<std::string> nodes_of(const std::string& policy, const Look& look, base::TimePoint now);

 private:
  std::map<std::string, std::vector<TaintPledge>> by_policy_;
};

}  // namespace controllers
