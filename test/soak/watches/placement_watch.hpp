#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "simulator/store.hpp"
#include "test/soak/decoded.hpp"

namespace soak {

/// What docs/concepts/placement.md promises of hints: each is for one new pod of the same controller, before it expires
/// and before its Evacuation ends, for a node that takes pods; and it is said who took it. By what pods bear.
class PlacementWatch {
 public:
  using Report = std::function<void(const std::string&)>;
  using Evacuations = std::map<std::string, api::Evacuation>;  ///< by uid

  /// `store` outlives it.
  PlacementWatch(simulator::Store& store, Report report);

  /// Looks at pods that are new. `all`: every Evacuation as it is, or was last. `is_current`: whoever gave hints lately
  /// knew all that is stored; else what rests on that is not looked at.
  void check_pods(const Evacuations& all, bool is_current);
  /// After a change of `now`.
  void check(const api::Evacuation& now) const;

 private:
  void check_given(const api::Pod& pod, const std::string& mark, const Evacuations& all, bool is_current);
  void check_in_time(const api::Pod& pod, const api::Evacuation& evacuation);
  void check_node(const api::Evacuation& evacuation);
  bool is_borne_by_another(const api::Pod& pod, const std::string& mark);

  simulator::Store& store_;
  Decoded<api::Pod> pods_;
  const Report report_;
  std::set<std::string> seen_;   ///< uids of pods
  std::set<std::string> taken_;  ///< uids of Evacuations whose hint some pod bore
};

}  // namespace soak
